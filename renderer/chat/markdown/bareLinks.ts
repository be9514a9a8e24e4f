import type { Nodes, PhrasingContent, Root, RootContent } from 'mdast';

const ADDRESS = /https:\/\/[^\s<>"'`|\\]+/;
const AFTER_IT = /[.,;:!?*_~]+$/;

/** A remark plugin that makes links of addresses that stand in the text as they are, as answers often name them. */
export function bareLinks(): (tree: Root) => void {
  return linkWithin;
}

function linkWithin(node: Nodes): void {
  if (!('children' in node) || node.type === 'link' || node.type === 'linkReference') return;
  const children: RootContent[] = node.children;
  for (let index = 0; index < children.length; index++) {
    const child = children[index];
    if (child?.type === 'text') {
      const parts = linked(child.value);
      children.splice(index, 1, ...parts);
      index += parts.length - 1;
    } else if (child !== undefined) {
      linkWithin(child);
    }
  }
}

function linked(text: string): PhrasingContent[] {
  const match = ADDRESS.exec(text);
  if (match === null) return [{ type: 'text', value: text }];
  const url = withoutWhatFollows(match[0]);
  const before = text.slice(0, match.index);
  const after = text.slice(match.index + url.length);
  return [
    ...(before === '' ? [] : [{ type: 'text', value: before } as const]),
    { type: 'link', url, children: [{ type: 'text', value: url }] },
    ...(after === '' ? [] : linked(after)),
  ];
}

/** An address without the stops of the sentence, and without a bracket that was opened before it. */
function withoutWhatFollows(address: string): string {
  let url = address;
  for (;;) {
    const cut = url.replace(AFTER_IT, '').replace(/[)\]}]$/, (bracket) => (isOpenedIn(url, bracket) ? bracket : ''));
    if (cut === url) return url;
    url = cut;
  }
}

function isOpenedIn(url: string, bracket: string): boolean {
  const open = { ')': '(', ']': '[', '}': '{' }[bracket] ?? '';
  return url.split(open).length >= url.split(bracket).length;
}
