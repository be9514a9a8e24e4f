import { StopStrings } from './stopStrings.ts';
import type { AnswerShape } from './textRequest.ts';

/** A part of an answer; `end` is where it ends in the text of all its tokens, in UTF-16 units. */
export interface AnswerPart {
  kind: 'reasoning' | 'text';
  text: string;
  end: number;
}

/**
 * Reads an answer as it comes: what the model thinks, what it says, and where a call begins. No part of a mark or of a stop
 * string is ever released. Stop strings are looked for in what it says, not in what it thinks.
 */
export class AnswerParts {
  readonly #shape: AnswerShape;
  readonly #said: StopStrings;
  readonly #thought: StopStrings;
  #place: 'start' | 'thinking' | 'saying' | 'over' = 'start';
  /** Of the start: what may still become a mark. */
  #held = '';
  /** Whitespace after thinking, which belongs to it only where more of it comes. */
  #trailing = '';
  #saysNothingYet = false;
  #thoughtNothingYet = true;
  /** Length of the text that was taken in and is not released as its own part. */
  #released = 0;
  #call: { at: number } | null = null;

  constructor(shape: AnswerShape, stop: readonly string[]) {
    this.#shape = shape;
    const { calls, thinking } = shape;
    const begins = calls === null || calls.format.atStart ? [] : calls.format.begins;
    this.#said = new StopStrings([...stop, ...begins]);
    this.#thought = new StopStrings(thinking === null ? [] : [thinking.close]);
    if (thinking?.begun === true) this.#place = 'thinking';
    else if (thinking === null && calls?.format.atStart !== true) this.#place = 'saying';
  }

  /** The model is thinking. */
  get thinking(): boolean {
    return this.#place === 'thinking';
  }

  /** A stop string is complete. */
  get stopped(): boolean {
    return this.#said.stopped && this.#call === null;
  }

  /** Where in the text of all tokens the mark of a call begins, once it is complete; nothing more comes then. */
  get call(): { readonly at: number } | null {
    return this.#call;
  }

  push(text: string): AnswerPart[] {
    switch (this.#place) {
      case 'start':
        return this.#start(text);
      case 'thinking':
        return this.#think(text);
      case 'saying':
        return this.#say(text);
      default:
        return [];
    }
  }

  /** What was held back, once no more will come. */
  flush(): AnswerPart[] {
    if (this.#place === 'start') {
      const held = this.#held;
      this.#held = '';
      return this.#part('text', held);
    }
    if (this.#place === 'thinking') return this.#part('reasoning', this.#thought.flush().trimEnd());
    return this.#place === 'saying' ? this.#part('text', this.#said.flush()) : [];
  }

  #start(text: string): AnswerPart[] {
    this.#held += text;
    const { thinking, calls } = this.#shape;
    const begun = this.#held.trimStart();
    const begins = calls?.format.atStart === true ? calls.format.begins : [];
    const begin = begins.find((mark) => begun.startsWith(mark));
    if (begin !== undefined) {
      this.#call = { at: this.#held.length - begun.length };
      this.#place = 'over';
      return [];
    }
    if (thinking !== null && begun.startsWith(thinking.open)) return this.#move('thinking', begun, thinking.open);
    const skipped = thinking?.skipped ?? null;
    if (skipped !== null && begun.startsWith(skipped)) return this.#move('saying', begun, skipped);
    const marks = [...begins, ...(thinking === null ? [] : [thinking.open]), ...(skipped === null ? [] : [skipped])];
    if (marks.some((mark) => mark.startsWith(begun))) return [];
    const held = this.#held;
    this.#held = '';
    this.#place = 'saying';
    return this.#say(held);
  }

  #move(place: 'thinking' | 'saying', begun: string, mark: string): AnswerPart[] {
    const rest = begun.slice(mark.length);
    this.#released += this.#held.length - rest.length;
    this.#held = '';
    this.#place = place;
    return this.push(rest);
  }

  #think(text: string): AnswerPart[] {
    const before = this.#released;
    const thought = this.#thought.push(text);
    const { found } = this.#thought;
    let shown = this.#trailing + thought;
    if (this.#thoughtNothingYet) shown = shown.trimStart();
    if (shown !== '') this.#thoughtNothingYet = false;
    const kept = shown.trimEnd();
    this.#trailing = shown.slice(kept.length);
    this.#released = before + thought.length;
    const parts: AnswerPart[] = kept === '' ? [] : [{ kind: 'reasoning', text: kept, end: this.#released }];
    if (found === null) return parts;
    this.#released += found.stop.length;
    this.#place = 'saying';
    this.#saysNothingYet = true;
    return [...parts, ...this.#say(found.rest)];
  }

  #say(text: string): AnswerPart[] {
    let rest = text;
    if (this.#saysNothingYet) {
      // What stands between the thinking and the answer belongs to neither.
      rest = text.trimStart();
      this.#released += text.length - rest.length;
      if (rest === '') return [];
      this.#saysNothingYet = false;
    }
    const said = this.#said.push(rest);
    const parts = this.#part('text', said);
    const { found } = this.#said;
    if (found !== null) {
      this.#place = 'over';
      const { calls } = this.#shape;
      if (calls !== null && !calls.format.atStart && calls.format.begins.includes(found.stop)) {
        this.#call = { at: this.#released };
      }
    }
    return parts;
  }

  #part(kind: AnswerPart['kind'], text: string): AnswerPart[] {
    if (text === '') return [];
    this.#released += text.length;
    return [{ kind, text, end: this.#released }];
  }
}
