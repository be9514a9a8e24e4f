import { isDeepStrictEqual } from 'node:util';

/** Whether no value can fit two of the schemas, as far as their types and constants tell; false where they do not. */
export function disjoint(schemas: readonly unknown[]): boolean {
  return schemas.every((one, index) => schemas.slice(index + 1).every((other) => areDisjoint(one, other)));
}

function areDisjoint(one: unknown, other: unknown): boolean {
  const [constants, others] = [constantsOf(one), constantsOf(other)];
  if (constants !== null && others !== null) return !constants.some((value) => includes(others, value));
  const [types, otherTypes] = [typesOf(one), typesOf(other)];
  if (types === null || otherTypes === null) return false;
  if (!types.some((type) => otherTypes.includes(type))) return true;
  // Objects that are told apart by a property that both must have.
  if (types.join() !== 'object' || otherTypes.join() !== 'object') return false;
  return namesOf(one).some((name) => {
    if (!requires(one, name) || !requires(other, name)) return false;
    const [mine, theirs] = [constantsOf(at(one, 'properties', name)), constantsOf(at(other, 'properties', name))];
    return mine !== null && theirs !== null && !mine.some((value) => includes(theirs, value));
  });
}

/** Types of JSON, integers as numbers; null where the schema does not say. */
function typesOf(schema: unknown): string[] | null {
  const constants = constantsOf(schema);
  const named = constants === null ? at(schema, 'type') : constants.map(typeOf);
  if (named === undefined) return null;
  const types = (Array.isArray(named) ? named : [named]).map((type) => (type === 'integer' ? 'number' : String(type)));
  return [...new Set(types)];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function constantsOf(schema: unknown): unknown[] | null {
  if (typeof schema !== 'object' || schema === null) return null;
  if (Object.hasOwn(schema, 'const')) return [at(schema, 'const')];
  const values = at(schema, 'enum');
  return Array.isArray(values) ? values : null;
}

function namesOf(schema: unknown): string[] {
  const properties = at(schema, 'properties');
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}

function requires(schema: unknown, name: string): boolean {
  const required = at(schema, 'required');
  return Array.isArray(required) && required.includes(name);
}

function includes(values: readonly unknown[], value: unknown): boolean {
  return values.some((one) => isDeepStrictEqual(one, value));
}

function at(schema: unknown, ...path: string[]): unknown {
  let value = schema;
  for (const key of path) {
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
  }
  return value;
}
