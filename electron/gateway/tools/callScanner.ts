import type { CallPlan } from './callPlan.ts';

/** What of a call has come. */
export type CallPart =
  | { kind: 'call'; index: number; name: string }
  | { kind: 'arguments'; index: number; text: string };

/** Reads calls as they come, in the format of their plan and after its opening; the grammar of the plan holds for them. */
export class CallScanner {
  readonly #plan: CallPlan;
  #place: 'name' | 'arguments' | 'between' = 'name';
  #held = '';
  #index = 0;
  /** Of the arguments: open brackets, and where in a string. */
  #depth = 0;
  #inString = false;
  #escaped = false;
  #complete = 0;

  constructor(plan: CallPlan) {
    this.#plan = plan;
    if (plan.onlyTool !== null) this.#place = 'arguments';
  }

  /** Calls whose arguments are complete. */
  get complete(): number {
    return this.#complete;
  }

  /** What stands in the opening already. */
  begin(): CallPart[] {
    const { onlyTool } = this.#plan;
    return onlyTool === null ? [] : [{ kind: 'call', index: 0, name: onlyTool }];
  }

  push(text: string): CallPart[] {
    const parts: CallPart[] = [];
    this.#held += text;
    while (this.#step(parts)) {
      // Until nothing more can be told from what has come.
    }
    return parts;
  }

  #step(parts: CallPart[]): boolean {
    const { format } = this.#plan;
    if (this.#place === 'name') {
      const end = this.#held.indexOf(format.toArguments);
      if (end < 0) return false;
      parts.push({ kind: 'call', index: this.#index, name: this.#held.slice(0, end) });
      this.#held = this.#held.slice(end + format.toArguments.length);
      this.#place = 'arguments';
      return true;
    }
    if (this.#place === 'arguments') {
      if (this.#depth === 0) this.#held = this.#held.trimStart();
      const length = this.#lengthOfArguments();
      if (length === 0) return false;
      parts.push({ kind: 'arguments', index: this.#index, text: this.#held.slice(0, length) });
      this.#held = this.#held.slice(length);
      if (this.#depth > 0) return false;
      this.#complete += 1;
      this.#index += 1;
      this.#place = 'between';
      return true;
    }
    const between = `${format.close}${format.next ?? ''}`;
    if (format.next === null || this.#held.length < between.length) return false;
    this.#held = this.#held.slice(between.length);
    this.#place = 'name';
    return true;
  }

  /** How much of what is held belongs to the arguments; afterwards `#depth` is 0 where they are complete. */
  #lengthOfArguments(): number {
    for (let at = 0; at < this.#held.length; at += 1) {
      const character = this.#held.charAt(at);
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (character === '\\') this.#escaped = true;
        else if (character === '"') this.#inString = false;
      } else if (character === '"') this.#inString = true;
      else if (character === '{' || character === '[') this.#depth += 1;
      else if (character === '}' || character === ']') {
        this.#depth -= 1;
        if (this.#depth === 0) return at + 1;
      }
    }
    return this.#held.length;
  }
}
