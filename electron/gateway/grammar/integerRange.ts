/** Digits of the largest integer that a grammar writes: every one of them is exact in JavaScript. */
const MOST_DIGITS = 15;
const LARGEST = 10 ** MOST_DIGITS - 1;

/** GBNF for the integers from `lowest` to `highest`, both included; null where there are none. Null bounds are open. */
export function integerRange(lowest: number | null, highest: number | null): string | null {
  const low = Math.max(lowest ?? -LARGEST, -LARGEST);
  const high = Math.min(highest ?? LARGEST, LARGEST);
  if (low > high) return null;
  const parts: string[] = [];
  if (low < 0) {
    const magnitudes = naturals(Math.max(1, -high), -low);
    if (magnitudes !== null) parts.push(`"-" (${magnitudes})`);
  }
  if (high >= 0) {
    const positive = naturals(Math.max(0, low), high);
    if (positive !== null) parts.push(positive);
  }
  return parts.join(' | ');
}

/** From `low` to `high`, both at least 0. */
function naturals(low: number, high: number): string | null {
  if (low > high) return null;
  const parts: string[] = [];
  for (let digits = String(low).length; digits <= String(high).length; digits += 1) {
    const least = Math.max(low, digits === 1 ? 0 : 10 ** (digits - 1));
    const most = Math.min(high, 10 ** digits - 1);
    parts.push(sameLength(String(least), String(most)));
  }
  return parts.join(' | ');
}

/** From `low` to `high`, digit by digit. */
function sameLength(low: string, high: string): string {
  const [first = '', last = ''] = [low.charAt(0), high.charAt(0)];
  const rest = low.length - 1;
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (rest === 0) return digit(first, last);
  if (isAll(lowRest, '0') && isAll(highRest, '9')) return `${digit(first, last)} [0-9]{${rest}}`;
  if (first === last) return `${digit(first, first)} (${sameLength(lowRest, highRest)})`;
  const parts = [`${digit(first, first)} (${sameLength(lowRest, '9'.repeat(rest))})`];
  const [from, to] = [Number(first) + 1, Number(last) - 1];
  if (from <= to) parts.push(`${digit(String(from), String(to))} [0-9]{${rest}}`);
  parts.push(`${digit(last, last)} (${sameLength('0'.repeat(rest), highRest)})`);
  return parts.join(' | ');
}

function digit(from: string, to: string): string {
  return from === to ? `"${from}"` : `[${from}-${to}]`;
}

function isAll(text: string, character: string): boolean {
  return text === character.repeat(text.length);
}
