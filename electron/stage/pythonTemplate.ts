import { Template } from '@huggingface/jinja';

/** A node of a template's syntax tree, as far as it is changed here. */
interface Node {
  type: string;
  [part: string]: unknown;
}

const NOTHING: Node = { type: 'ArrayLiteral', value: [] };
/** Filters that take an undefined value for an empty one, and what of. */
const emptyFor = new Map<string, Node>([
  ...['trim', 'upper', 'lower', 'title', 'capitalize', 'string', 'replace', 'indent', 'length', 'count'].map(
    (name) => [name, text('')] as const,
  ),
  ...['join', 'list', 'map', 'select', 'reject', 'selectattr', 'rejectattr', 'reverse', 'sort', 'unique'].map(
    (name) => [name, NOTHING] as const,
  ),
  ['items', { type: 'ObjectLiteral', value: new Map() }],
]);

/** Functions that the tree calls. */
const own = { python_format: format, python_key: key };

/**
 * Reads a chat template so that it does what it does in Python, for which it was written: an undefined value is empty where it is
 * looped over, filtered, tested for items or used as a key, and strings have `format`. Throws where it cannot be read.
 */
export function pythonTemplate(source: string): { render(values: Record<string, unknown>): string } {
  const template = new Template(source);
  adapt(template.parsed);
  return { render: (values) => template.render({ ...values, ...own }) };
}

function adapt(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (value instanceof Map) {
    for (const [key, each] of value) {
      adapt(key);
      adapt(each);
    }
    return;
  }
  for (const part of Object.values(value)) adapt(part);
  if ('type' in value && typeof value.type === 'string') adaptNode(value as Node);
}

function adaptNode(node: Node): void {
  switch (node.type) {
    case 'MemberExpression':
      if (node.computed === true && isNode(node.property) && !isSettled(node.property)) {
        node.property = called('python_key', [node.property]);
      }
      break;
    case 'FilterExpression': {
      const empty = isNode(node.filter) ? emptyFor.get(filterName(node.filter)) : undefined;
      if (empty !== undefined && isNode(node.operand)) node.operand = or(node.operand, empty);
      break;
    }
    case 'For': {
      const { iterable } = node;
      if (!isNode(iterable)) break;
      if (iterable.type === 'SelectExpression' && isNode(iterable.lhs)) iterable.lhs = or(iterable.lhs, NOTHING);
      else node.iterable = or(iterable, NOTHING);
      break;
    }
    case 'TestExpression':
      if (isNode(node.test) && node.test.value === 'iterable' && isNode(node.operand)) {
        node.operand = or(node.operand, NOTHING);
      }
      break;
    case 'CallExpression': {
      const { callee } = node;
      if (!isNode(callee) || callee.type !== 'MemberExpression' || callee.computed === true) break;
      if (!isNode(callee.property) || callee.property.value !== 'format') break;
      node.args = [callee.object, ...(Array.isArray(node.args) ? node.args : [])];
      node.callee = { type: 'Identifier', value: 'python_format' };
      break;
    }
  }
}

/** What no mapping has as a key finds nothing in it. */
function key(value: unknown): string | number {
  return typeof value === 'string' || typeof value === 'number' ? value : '';
}

/** `{}`, `{0}` and `{name}` of Python's `str.format`, without its format specifications. */
function format(template: unknown, ...args: unknown[]): string {
  if (typeof template !== 'string') throw new TypeError('only a string has format');
  const last = args.at(-1);
  const named = last instanceof Map ? last : new Map<unknown, unknown>();
  let next = 0;
  return template.replace(/\{\{|\}\}|\{(\w*)\}/g, (found, name: string | undefined) => {
    if (name === undefined) return found.charAt(0);
    const value = /^\d*$/.test(name) ? args[name === '' ? next++ : Number(name)] : named.get(name);
    if (value === undefined) throw new RangeError(`format has no value for {${name}}`);
    return String(unwrapped(value));
  });
}

/** Named arguments come as the template's own values. */
function unwrapped(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'value' in value ? value.value : value;
}

function or(operand: Node, empty: Node): Node {
  return { type: 'FilterExpression', operand, filter: called('default', [empty]) };
}

function called(name: string, args: readonly Node[]): Node {
  return { type: 'CallExpression', callee: { type: 'Identifier', value: name }, args };
}

function text(value: string): Node {
  return { type: 'StringLiteral', value };
}

function isSettled({ type }: Node): boolean {
  return ['StringLiteral', 'IntegerLiteral', 'SliceExpression', 'UnaryExpression'].includes(type);
}

function filterName(filter: Node): string {
  const name = filter.type === 'CallExpression' && isNode(filter.callee) ? filter.callee.value : filter.value;
  return typeof name === 'string' ? name : '';
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
