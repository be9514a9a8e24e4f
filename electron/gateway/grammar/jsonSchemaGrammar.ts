import { isDeepStrictEqual } from 'node:util';
import { disjoint } from './disjoint.ts';
import { integerRange } from './integerRange.ts';
import { jsonRules, literal } from './jsonRules.ts';

type Schema = Record<string, unknown>;

/** A schema that cannot be kept; `path` leads to the keyword, dotted, from the schema's root. */
export class UnsupportedSchema extends Error {
  readonly path: string;

  constructor(path: string, problem: string) {
    super(problem);
    this.name = 'UnsupportedSchema';
    this.path = path;
  }
}

const ANNOTATIONS = [
  ...['$schema', '$id', '$comment', 'title', 'description', 'default', 'examples', 'deprecated', 'readOnly'],
  ...['writeOnly', '$defs', 'definitions', 'nullable'],
];
const CONSTRAINTS: Record<string, readonly string[]> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
};
const DEEPEST = 64;
/** llama.cpp refuses repetitions beyond 2000. */
const MOST_REPEATS = 1000;
/** What llama.cpp is given to read (native/src/grammar.cpp). */
const LONGEST = 2 ** 18;

/**
 * GBNF whose texts are JSON values that the schema takes: not all of them, but each is one. Honoured: `type` (one or several),
 * `enum`, `const`, `anyOf`, `oneOf` whose branches exclude each other by type or by a property of constants, `allOf` of one,
 * `$ref` within the schema (recursion too), `properties`, `required`, `additionalProperties`, `items`, `prefixItems`,
 * `minItems`, `maxItems`, `minLength`, `maxLength`, `format` (date, time, date-time, uuid), bounds of integers, and of other
 * numbers a `minimum` of 0. Annotations are ignored. Every other keyword is refused, `pattern`, `not` and `uniqueItems` among
 * them.
 *
 * Objects list their properties in the order of the schema; those that are not required may be left out. An object with
 * named properties gets no others. Whitespace is bounded, so that a model cannot go on with it for ever.
 *
 * @throws UnsupportedSchema
 */
export function jsonSchemaGrammar(schema: unknown): string {
  const { root, rules } = schemaRules(schema, 'r');
  const text = [`root ::= ${root}`, ...rules].join('\n');
  if (Buffer.byteLength(text) > LONGEST) throw new UnsupportedSchema('', 'is too large to be kept');
  return `${text}\n`;
}

/** The same as an expression and the rules that it needs; all but those of JSON itself are named with `prefix`. */
export function schemaRules(schema: unknown, prefix: string): { root: string; rules: string[] } {
  const writer = new SchemaWriter(schema, prefix);
  const root = writer.value(schema, '', 0);
  return { root, rules: writer.rules() };
}

/** GBNF for any JSON object. */
export function jsonObjectGrammar(): string {
  return jsonSchemaGrammar({ type: 'object' });
}

class SchemaWriter {
  readonly #root: unknown;
  readonly #prefix: string;
  /** Rules by name, and the names of those that may be shared. */
  readonly #bodies = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #references = new Map<string, string>();
  readonly #used = new Set<keyof typeof jsonRules>();
  #next = 1;

  constructor(root: unknown, prefix: string) {
    this.#root = root;
    this.#prefix = prefix;
  }

  rules(): string[] {
    const shared = [...this.#used].map((name) => `${name} ::= ${jsonRules[name].body}`);
    return [...[...this.#bodies].map(([name, body]) => `${name} ::= ${body}`), ...shared];
  }

  /** An expression for the values of a schema: a rule's name, or one that needs no brackets. */
  value(schema: unknown, path: string, depth: number): string {
    if (depth > DEEPEST) throw new UnsupportedSchema(path, `is nested deeper than ${DEEPEST} levels`);
    if (schema === true) return this.#use('value');
    if (!isSchema(schema)) throw new UnsupportedSchema(path, 'is no schema that takes a value');
    if ('$ref' in schema) return this.#reference(schema, path, depth);
    for (const combiner of ['anyOf', 'oneOf', 'allOf'] as const) {
      if (combiner in schema) return this.#combined(schema, combiner, path, depth);
    }
    if ('const' in schema || 'enum' in schema) return this.#constants(schema, path);
    const types = typesOf(schema, path);
    if (types === null) {
      this.#checkKeywords(schema, ['type'], path);
      return this.#use('value');
    }
    this.#checkKeywords(schema, ['type', ...types.flatMap((type) => CONSTRAINTS[type] ?? [])], path);
    const parts = types.map((type) => this.#ofType(type, schema, path, depth));
    return parts.length === 1 ? (parts[0] ?? '') : this.#rule(parts.join(' | '));
  }

  #ofType(type: string, schema: Schema, path: string, depth: number): string {
    switch (type) {
      case 'object':
        return this.#object(schema, path, depth);
      case 'array':
        return this.#array(schema, path, depth);
      case 'string':
        return this.#string(schema, path);
      case 'integer':
        return this.#integer(schema, path);
      case 'number':
        return this.#number(schema, path);
      case 'boolean':
        return this.#rule('"true" | "false"');
      default:
        return '"null"';
    }
  }

  #object(schema: Schema, path: string, depth: number): string {
    const properties = schema.properties ?? {};
    if (!isSchema(properties)) throw new UnsupportedSchema(join(path, 'properties'), 'must be an object');
    const required = schema.required ?? [];
    if (!Array.isArray(required) || !required.every((name) => typeof name === 'string')) {
      throw new UnsupportedSchema(join(path, 'required'), 'must be an array of names');
    }
    const more = schema.additionalProperties ?? true;
    const named = new Map(Object.entries(properties));
    for (const name of required) {
      if (named.has(name)) continue;
      if (more === false) throw new UnsupportedSchema(join(path, 'required'), `names ${name}, which is no property`);
      named.set(name, more);
    }
    if (named.size === 0) return this.#map(more, join(path, 'additionalProperties'), depth);

    const space = this.#use('space');
    const pairs = [...named].map(([name, value]) => {
      const inner = this.value(value, join(join(path, 'properties'), name), depth + 1);
      const pair = this.#rule(`${literal(JSON.stringify(name))} ":" ${space} ${inner}`);
      return { pair, optional: !required.includes(name) };
    });
    // From the last to the first: `after` lists what may follow a property, `begin` what may open the object.
    let after = '';
    let begin = '';
    for (const { pair, optional } of pairs.reverse()) {
      const opened = `${pair} ${after}`.trim();
      begin = this.#rule(!optional ? opened : begin === '' ? `(${opened})?` : `${opened} | ${begin}`);
      const next = `"," ${space} ${pair}`;
      after = this.#rule(`${optional ? `(${next})?` : next} ${after}`.trim());
    }
    return this.#rule(`"{" ${space} ${begin} ${space} "}"`);
  }

  #map(values: unknown, path: string, depth: number): string {
    const space = this.#use('space');
    if (values === true) return this.#use('object');
    if (values === false) return this.#rule(`"{" ${space} "}"`);
    const pair = this.#rule(`${this.#use('string')} ":" ${space} ${this.value(values, path, depth + 1)}`);
    return this.#rule(`"{" ${space} (${pair} ("," ${space} ${pair})* ${space})? "}"`);
  }

  #array(schema: Schema, path: string, depth: number): string {
    const space = this.#use('space');
    const least = countOf(schema, 'minItems', path) ?? 0;
    const most = countOf(schema, 'maxItems', path);
    const prefix = schema.prefixItems ?? [];
    if (!Array.isArray(prefix)) throw new UnsupportedSchema(join(path, 'prefixItems'), 'must be an array of schemas');
    const closed = schema.items === false;
    const fixed = prefix.slice(0, most ?? prefix.length);
    const highest = closed ? Math.min(most ?? prefix.length, prefix.length) : most;
    if (highest !== null && least > highest)
      throw new UnsupportedSchema(join(path, 'minItems'), 'is more than there may be');
    const items = fixed.map((item, at) => this.value(item, join(join(path, 'prefixItems'), String(at)), depth + 1));

    // From the last to the first item, so that each holds those that may follow it.
    let tail = '';
    if (highest === null || highest > items.length) {
      const item = this.value(schema.items ?? true, join(path, 'items'), depth + 1);
      if (items.length === 0) return this.#list(item, least, highest);
      const rest = highest === null ? '' : String(highest - items.length);
      tail = `("," ${space} ${item}){${Math.max(0, least - items.length)},${rest}}`;
    }
    for (const [at, item] of [...items.entries()].reverse()) {
      const one = at === 0 ? `${item} ${tail}` : `"," ${space} ${item} ${tail}`;
      tail = this.#rule(at < least ? one.trim() : `(${one.trim()})?`);
    }
    return this.#rule(`"[" ${space} ${tail} ${space} "]"`);
  }

  /** Any number of the same, from `least` to `most`. */
  #list(item: string, least: number, most: number | null): string {
    const space = this.#use('space');
    if (most === 0) return this.#rule(`"[" ${space} "]"`);
    const others = `("," ${space} ${item}){${Math.max(0, least - 1)},${most === null ? '' : most - 1}}`;
    const some = `${item} ${others} ${space}`;
    return this.#rule(`"[" ${space} ${least === 0 ? `(${some})?` : some} "]"`);
  }

  #string(schema: Schema, path: string): string {
    const least = countOf(schema, 'minLength', path);
    const most = countOf(schema, 'maxLength', path);
    const { format } = schema;
    if (format !== undefined) {
      if (least !== null || most !== null) throw new UnsupportedSchema(join(path, 'format'), 'goes with no length');
      if (format === 'date' || format === 'time' || format === 'date-time' || format === 'uuid')
        return this.#use(format);
      throw new UnsupportedSchema(join(path, 'format'), `${JSON.stringify(format)} is not supported`);
    }
    if (least === null && most === null) return this.#use('string');
    if (most !== null && (least ?? 0) > most)
      throw new UnsupportedSchema(join(path, 'minLength'), 'is more than maxLength');
    return this.#rule(`"\\"" ${this.#use('char')}{${least ?? 0},${most ?? ''}} "\\""`);
  }

  #integer(schema: Schema, path: string): string {
    if (schema.multipleOf !== undefined && schema.multipleOf !== 1) {
      throw new UnsupportedSchema(join(path, 'multipleOf'), 'is supported only as 1');
    }
    const bounds = boundsOf(schema, path);
    if (bounds.low === null && bounds.high === null) return this.#use('integer');
    const low = bounds.low === null ? null : bounds.lowOpen ? Math.floor(bounds.low) + 1 : Math.ceil(bounds.low);
    const high = bounds.high === null ? null : bounds.highOpen ? Math.ceil(bounds.high) - 1 : Math.floor(bounds.high);
    const range = integerRange(low, high);
    if (range === null) throw new UnsupportedSchema(join(path, 'maximum'), 'leaves no integer');
    return this.#rule(range);
  }

  #number(schema: Schema, path: string): string {
    if (schema.multipleOf !== undefined) throw new UnsupportedSchema(join(path, 'multipleOf'), 'is not supported');
    const { low, high, lowOpen } = boundsOf(schema, path);
    if (high !== null) throw new UnsupportedSchema(join(path, 'maximum'), 'is supported for integers only');
    if (low === null) return this.#use('number');
    if (low !== 0 || lowOpen) {
      throw new UnsupportedSchema(join(path, 'minimum'), 'of a number that is no integer is supported only as 0');
    }
    return this.#use('magnitude');
  }

  #constants(schema: Schema, path: string): string {
    this.#checkKeywords(schema, ['type', 'const', 'enum'], path);
    const given = 'enum' in schema ? schema.enum : [schema.const];
    if (!Array.isArray(given) || given.length === 0)
      throw new UnsupportedSchema(join(path, 'enum'), 'must hold values');
    const types = typesOf(schema, path);
    const values = given
      .filter((value) => !('const' in schema) || isDeepStrictEqual(value, schema.const))
      .filter((value) => types === null || types.some((type) => isOfType(value, type)));
    if (values.length === 0) throw new UnsupportedSchema(path, 'takes no value');
    return this.#rule(values.map((value) => literal(JSON.stringify(value))).join(' | '));
  }

  #combined(schema: Schema, combiner: 'anyOf' | 'oneOf' | 'allOf', path: string, depth: number): string {
    this.#checkKeywords(schema, [combiner], path);
    const branches: unknown = schema[combiner];
    const at = join(path, combiner);
    if (!Array.isArray(branches) || branches.length === 0)
      throw new UnsupportedSchema(at, 'must be an array of schemas');
    if (combiner === 'allOf' && branches.length > 1)
      throw new UnsupportedSchema(at, 'is supported with one schema only');
    if (combiner === 'oneOf') {
      const resolved = branches.map((branch, index) => this.#resolve(branch, join(at, String(index))));
      if (!disjoint(resolved)) {
        throw new UnsupportedSchema(at, 'is supported where no value fits two of its schemas for sure; use anyOf');
      }
    }
    const parts = branches.map((branch, index) => this.value(branch, join(at, String(index)), depth + 1));
    return parts.length === 1 ? (parts[0] ?? '') : this.#rule(parts.join(' | '));
  }

  #reference(schema: Schema, path: string, depth: number): string {
    this.#checkKeywords(schema, ['$ref'], path);
    const pointer = String(schema.$ref);
    const known = this.#references.get(pointer);
    if (known !== undefined) return known;
    const name = this.#name();
    this.#references.set(pointer, name);
    const body = this.value(this.#resolve(schema, path), path, depth + 1);
    this.#bodies.set(name, body);
    return name;
  }

  /** The schema that a chain of references leads to. */
  #resolve(schema: unknown, path: string): unknown {
    let at = schema;
    for (const seen = new Set<unknown>(); isSchema(at) && '$ref' in at; ) {
      if (seen.has(at)) throw new UnsupportedSchema(join(path, '$ref'), 'leads back to itself');
      seen.add(at);
      this.#checkKeywords(at, ['$ref'], path);
      at = this.#target(at.$ref, path);
    }
    return at;
  }

  #target(pointer: unknown, path: string): unknown {
    if (typeof pointer !== 'string' || (pointer !== '#' && !pointer.startsWith('#/'))) {
      throw new UnsupportedSchema(join(path, '$ref'), 'is supported only within the schema, as #/...');
    }
    let at: unknown = this.#root;
    for (const step of pointer.split('/').slice(1)) {
      const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
      at = typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined;
    }
    if (at === undefined) throw new UnsupportedSchema(join(path, '$ref'), `${pointer} is not in the schema`);
    return at;
  }

  #checkKeywords(schema: Schema, known: readonly string[], path: string): void {
    for (const [keyword, value] of Object.entries(schema)) {
      if (known.includes(keyword) || ANNOTATIONS.includes(keyword) || value === undefined) continue;
      // Keywords of another type say nothing about the values of this one.
      const foreign = Object.values(CONSTRAINTS).some((keywords) => keywords.includes(keyword));
      if (foreign && known.includes('type') && !known.includes('const')) continue;
      throw new UnsupportedSchema(join(path, keyword), 'is not supported here');
    }
  }

  #use(name: keyof typeof jsonRules): string {
    if (!this.#used.has(name)) {
      this.#used.add(name);
      for (const needed of jsonRules[name].needs) this.#use(needed);
    }
    return name;
  }

  #rule(body: string): string {
    const known = this.#names.get(body);
    if (known !== undefined) return known;
    const name = this.#name();
    this.#names.set(body, name);
    this.#bodies.set(name, body);
    return name;
  }

  #name(): string {
    const name = `${this.#prefix}${this.#next}`;
    this.#next += 1;
    return name;
  }
}

/** The types that a schema names, or that its keywords speak of; null for any. */
function typesOf(schema: Schema, path: string): string[] | null {
  const { type } = schema;
  if (type !== undefined) {
    const types = Array.isArray(type) ? type : [type];
    const unknown = types.find((one) => typeof one !== 'string' || !Object.hasOwn(CONSTRAINTS, one));
    if (types.length === 0 || unknown !== undefined)
      throw new UnsupportedSchema(join(path, 'type'), 'is no type of JSON');
    return types;
  }
  const spoken = ['object', 'array', 'string', 'number'].filter((name) =>
    CONSTRAINTS[name]?.some((word) => word in schema),
  );
  return spoken.length === 0 ? null : spoken;
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function countOf(schema: Schema, keyword: string, path: string): number | null {
  const value = schema[keyword];
  if (value === undefined) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_REPEATS) return value;
  throw new UnsupportedSchema(join(path, keyword), `must be a whole number up to ${MOST_REPEATS}`);
}

function boundsOf(schema: Schema, path: string) {
  const read = (keyword: string): number | null => {
    const value = schema[keyword];
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value ?? null;
    throw new UnsupportedSchema(join(path, keyword), 'must be a number');
  };
  const [minimum, above] = [read('minimum'), read('exclusiveMinimum')];
  const [maximum, below] = [read('maximum'), read('exclusiveMaximum')];
  const lowOpen = above !== null && (minimum === null || above >= minimum);
  const highOpen = below !== null && (maximum === null || below <= maximum);
  return { low: lowOpen ? above : minimum, lowOpen, high: highOpen ? below : maximum, highOpen };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function join(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`;
}
