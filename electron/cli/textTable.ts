import { plainText } from './plainText.ts';

/** An address and a reference fit; a licence that is a whole text is cut. */
const MOST_CELL = 100;
const MOST_SHORT = 32;

/**
 * Rows as aligned text: two spaces between columns, numbers (and what looks like them) to the right. What would break a line
 * is left out of cells, and long ones are cut, in columns of `short` early.
 */
export function textTable(
  head: readonly string[],
  given: readonly (readonly string[])[],
  { short = [] }: { short?: readonly string[] } = {},
): string {
  const most = head.map((name) => (short.includes(name) ? MOST_SHORT : MOST_CELL));
  const rows = given.map((row) => row.map((cell, column) => plainText(cell, most[column] ?? MOST_CELL)));
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const right = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^[\d.,~-]+( \w+)?$/.test(row[column] ?? '')),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (right[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
