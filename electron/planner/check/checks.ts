import { InvalidInput } from '../invalidInput.ts';

/** Sums of bytes stay exact below this. */
export const mostBytes = Number.MAX_SAFE_INTEGER;
/** A count that 32 bits hold. */
export const mostCount = 2 ** 31 - 1;

export interface Bounds {
  least?: number;
  most?: number;
  whole?: boolean;
  /** Whether the least value itself is refused. */
  above?: boolean;
}

/** Refuses anything but a number within the bounds. */
export function checkNumber(value: unknown, field: string, bounds: Bounds = {}): asserts value is number {
  const { least = 0, most = mostBytes, whole = false, above = false } = bounds;
  if (value === undefined || value === null) throw new InvalidInput(field, 'is missing');
  if (typeof value !== 'number') throw new InvalidInput(field, `must be a number, not ${shown(value)}`);
  if (!Number.isFinite(value)) throw new InvalidInput(field, `must be a finite number, not ${value}`);
  if (value < least || (above && value === least)) {
    throw new InvalidInput(field, `must be ${above ? 'more than' : 'at least'} ${least}, not ${value}`);
  }
  if (value > most) throw new InvalidInput(field, `must be at most ${most}, not ${value}`);
  if (whole && !Number.isInteger(value)) throw new InvalidInput(field, `must be a whole number, not ${value}`);
}

/** Refuses anything but a string that is not empty. */
export function checkText(value: unknown, field: string): asserts value is string {
  if (value === undefined || value === null) throw new InvalidInput(field, 'is missing');
  if (typeof value !== 'string') throw new InvalidInput(field, `must be a string, not ${shown(value)}`);
  if (value === '') throw new InvalidInput(field, 'must not be empty');
}

/** Refuses anything but one of the choices. */
export function checkChoice<T extends string>(
  value: unknown,
  choices: readonly T[],
  field: string,
): asserts value is T {
  if (value === undefined || value === null) throw new InvalidInput(field, 'is missing');
  if (!choices.some((choice) => choice === value)) {
    throw new InvalidInput(field, `must be one of ${choices.join(', ')}, not ${shown(value)}`);
  }
}

/** Refuses anything but true, false or nothing. */
export function checkFlag(value: unknown, field: string): void {
  if (value !== undefined && typeof value !== 'boolean') {
    throw new InvalidInput(field, `must be true or false, not ${shown(value)}`);
  }
}

/** Refuses anything but an object that is no list. */
export function checkObject(value: unknown, field: string): asserts value is object {
  if (value === undefined || value === null) throw new InvalidInput(field, 'is missing');
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new InvalidInput(field, `must be an object, not ${shown(value)}`);
  }
}

/** Refuses anything but a list. */
export function checkList(value: unknown, field: string): asserts value is unknown[] {
  if (value === undefined || value === null) throw new InvalidInput(field, 'is missing');
  if (!Array.isArray(value)) throw new InvalidInput(field, `must be a list, not ${shown(value)}`);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : String(value);
}

/** The same for a number that may be left out. */
export function checkOptional(value: unknown, field: string, bounds: Bounds): void {
  if (value !== undefined) checkNumber(value, field, bounds);
}

/** More than nothing. */
export const positive: Bounds = { above: true };
/** Something a second, of bytes or operations: less would be slower than any machine, and sums would no longer be finite. */
export const rate: Bounds = { least: 1 };
/** One, two, three. */
export const positiveCount: Bounds = { least: 1, most: mostCount, whole: true };
