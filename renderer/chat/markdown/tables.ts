import type { Definition, Nodes, Paragraph, PhrasingContent, Root, RootContent, Table, TableRow } from 'mdast';

/** What of a processor of unified is needed here. */
interface Parser {
  parse(text: string): { type: string };
}

type Align = 'left' | 'right' | 'center' | null;

const DELIMITER = /^:?-+:?$/;
// Whatever a cell begins with, it is no list, heading or quote.
const GUARD = 'x ';

/**
 * A remark plugin for the tables of GitHub Flavored Markdown (section 4.10 of its spec), the only part of it that answers
 * of models are full of: a paragraph with a header and a delimiter row becomes what comes before the table, and the table.
 */
export function tables(this: Parser): (tree: Root, file: unknown) => void {
  return (tree, file) => {
    const source = String(file);
    const definitions = definitionsOf(tree, source);
    const inline = (text: string) => inlineOf(this, text, definitions);
    replaceParagraphs(tree, (paragraph) => withTable(linesOf(paragraph, source), inline));
  };
}

/** Puts what `replace` makes of every paragraph in its place, at any depth; null leaves it as it is. */
function replaceParagraphs(node: Nodes, replace: (paragraph: Paragraph) => RootContent[] | null): void {
  if (!('children' in node)) return;
  const children: RootContent[] = node.children;
  for (let index = 0; index < children.length; index++) {
    const child = children[index];
    if (child?.type === 'paragraph') {
      const parts = replace(child);
      if (parts === null) continue;
      children.splice(index, 1, ...parts);
      index += parts.length - 1;
    } else if (child !== undefined) {
      replaceParagraphs(child, replace);
    }
  }
}

/** The lines of a paragraph as they were written, without the marks of the quotes and lists that it lies in. */
function linesOf({ position }: Paragraph, source: string): string[] {
  return source
    .slice(position?.start.offset, position?.end.offset)
    .split('\n')
    .map((line, index) => (index === 0 ? line : line.replace(/^[\s>]+/, '')).trim());
}

function withTable(lines: readonly string[], inline: (text: string) => PhrasingContent[]): RootContent[] | null {
  const at = lines.findIndex((line, index) => {
    const below = lines[index + 1];
    const columns = below === undefined ? null : alignments(below);
    return columns !== null && columns.length === cellsOf(line).length;
  });
  const align = alignments(lines[at + 1] ?? '');
  if (at < 0 || align === null) return null;
  const row = (line: string): TableRow => {
    const cells = cellsOf(line);
    return {
      type: 'tableRow',
      children: align.map((_, column) => ({ type: 'tableCell', children: inline(cells[column] ?? '') })),
    };
  };
  const table: Table = {
    type: 'table',
    align,
    children: [lines[at] ?? '', ...lines.slice(at + 2)].map(row),
  };
  if (at === 0) return [table];
  return [{ type: 'paragraph', children: inline(lines.slice(0, at).join('\n')) }, table];
}

/** How the columns of a delimiter row are aligned; null for any other line. */
function alignments(line: string): Align[] | null {
  const cells = cellsOf(line);
  if (!line.includes('|') || !cells.every((cell) => DELIMITER.test(cell))) return null;
  return cells.map((cell) => {
    if (cell.endsWith(':')) return cell.startsWith(':') ? 'center' : 'right';
    return cell.startsWith(':') ? 'left' : null;
  });
}

/** The cells of a row: a backslash before a bar, also in code, keeps it in its cell. */
function cellsOf(line: string): string[] {
  const inner = line.replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function inlineOf(parser: Parser, text: string, definitions: string): PhrasingContent[] {
  const tree = parser.parse(`${GUARD}${text}\n\n${definitions}`);
  const paragraph = isRoot(tree) ? tree.children[0] : undefined;
  if (paragraph?.type !== 'paragraph') return [];
  const [first, ...others] = paragraph.children;
  if (first?.type !== 'text') return paragraph.children;
  const value = first.value.slice(GUARD.length);
  return value === '' ? others : [{ ...first, value }, ...others];
}

function isRoot(node: { type: string }): node is Root {
  return node.type === 'root';
}

/** Where reference links lead to, as it was written. */
function definitionsOf(tree: Root, source: string): string {
  return tree.children
    .filter((child): child is Definition => child.type === 'definition')
    .map(({ position }) => source.slice(position?.start.offset, position?.end.offset))
    .join('\n');
}
