import { commonLength } from '../scheduler/commonLength.ts';

/** Guesses that are being made. */
export interface Asked {
  /** How many tokens of log and guesses they are to follow. */
  readonly at: number;
}

export interface Judged {
  /** Guesses that a step has judged, and how many of them were right. */
  judged: number;
  accepted: number;
}

/** What is believed of a sequence beyond its log: tokens that are being verified, and those that are to be sent next. */
export class Guesses {
  #underWay: number[] = [];
  #next: readonly number[] = [];
  readonly #steps = new Set<number>();
  #asked: Asked | null = null;

  /** Sent beyond the log, and not judged yet. */
  get underWay(): readonly number[] {
    return this.#underWay;
  }

  /** To be sent next: what may follow the log and all that is under way. */
  get next(): readonly number[] {
    return this.#next;
  }

  /** Steps under way that carry guesses of which none is known to be wrong. */
  get steps(): number {
    return this.#steps.size;
  }

  /** Whether more of them are being made. */
  get areMade(): boolean {
    return this.#asked !== null;
  }

  /** More are being made, to follow the first `at` tokens of log and guesses; `settle` takes what comes of it. */
  ask(at: number): Asked {
    const asked = { at };
    this.#asked = asked;
    return asked;
  }

  /**
   * These were made. 'outdated' where a guess before them was wrong; 'missed' where the log, which has gone on meanwhile, says
   * otherwise than they; else they are to be sent next, as far as the log does not hold them.
   */
  settle(asked: Asked, made: readonly number[], log: readonly number[]): 'taken' | 'missed' | 'outdated' {
    if (this.#asked !== asked) return 'outdated';
    this.#asked = null;
    const gained = log.slice(asked.at);
    if (made.length > 0 && commonLength(made, gained) < gained.length) return 'missed';
    this.#next = made.slice(gained.length);
    return 'taken';
  }

  /** `tokens` of `next` travel with a step; the rest is forgotten. */
  send(step: number, tokens: readonly number[]): void {
    this.#next = [];
    if (tokens.length === 0) return;
    this.#underWay.push(...tokens);
    this.#steps.add(step);
  }

  /** A step has come back. */
  back(step: number): void {
    this.#steps.delete(step);
  }

  /** These tokens follow the log. Where a guess is wrong, all that were built on it are forgotten. */
  judge(tokens: readonly number[]): Judged {
    const judged = Math.min(tokens.length, this.#underWay.length);
    const accepted = commonLength(this.#underWay, tokens);
    if (accepted < judged) {
      this.clear();
      return { judged, accepted };
    }
    this.#underWay.splice(0, accepted);
    const beyond = tokens.slice(accepted);
    this.#next = commonLength(this.#next, beyond) === beyond.length ? this.#next.slice(beyond.length) : [];
    return { judged, accepted };
  }

  clear(): void {
    this.#underWay = [];
    this.#next = [];
    this.#steps.clear();
    this.#asked = null;
  }
}
