import type { StepCosts } from '../scheduler/stepCosts.ts';
import type { TokenSampling } from '../serving/servedModel.ts';
import type { Acceptance } from './acceptance.ts';
import { type DraftPlan, draftPlan } from './draftPlan.ts';
import { lookupDraft } from './lookupDraft.ts';

export interface ProposeRequest {
  sequence: number;
  /** The prompt, every committed token, and what is believed to follow. */
  log: readonly number[];
  promptLength: number;
  count: number;
  sampling: TokenSampling;
}

/** A model that is quick to guess what a larger one with the same vocabulary will say. */
export interface Drafter {
  /** To draft one token, as measured, ms. */
  readonly draftMs: number;
  /** A sequence has its prompt read by the stages; what is to draft for it may read it meanwhile. */
  prepare(sequence: number, log: readonly number[]): void;
  /** At most `count` tokens that may follow the log of a sequence; none where it cannot. Never rejects. */
  propose(request: ProposeRequest): Promise<readonly number[]>;
  /** The sequence has ended. */
  forget(sequence: number): void;
}

export interface DraftedSequence {
  readonly id: number;
  /** The prompt, every committed token, and the guesses that are being verified. */
  readonly log: readonly number[];
  readonly generated: number;
  readonly acceptance: Acceptance;
  readonly sampling: TokenSampling;
  /** Tokens that it may still take. */
  readonly room: number;
  /** Steps under way whose guesses the next ones would follow. */
  readonly steps: number;
}

export interface SpeculationOptions {
  /** Null looks drafts up in the log itself. */
  drafter: Drafter | null;
  /** Most drafts of one run; 0 turns speculation off. */
  most: number;
  /** Most steps of one sequence under way at once; 1 waits for each verification. */
  deepest: number;
  /** Always so many and so deep, to measure what that brings. */
  always?: boolean;
}

/** Where drafting does not pay one draft is tried after so many tokens, in case it does by now. */
const PROBE_TOKENS = 32;

/** Decides how many tokens of a sequence to draft, and drafts them. */
export class Speculation {
  readonly #options: SpeculationOptions;

  constructor(options: SpeculationOptions) {
    this.#options = options;
  }

  /** What may follow the log; a promise where a model has to be asked. `active` sequences share the stages. */
  draft(sequence: DraftedSequence, active: number, costs: StepCosts): readonly number[] | Promise<readonly number[]> {
    const count = this.#count(sequence, active, costs);
    if (count === 0) return [];
    const { drafter } = this.#options;
    if (drafter === null) return lookupDraft(sequence.log, count);
    const { id, log, generated, sampling } = sequence;
    return drafter.propose({ sequence: id, log, promptLength: log.length - generated, count, sampling });
  }

  /** A sequence has begun. */
  prepare(sequence: number, log: readonly number[]): void {
    if (this.#options.most > 0) this.#options.drafter?.prepare(sequence, log);
  }

  /** A sequence has ended. */
  forget(sequence: number): void {
    this.#options.drafter?.forget(sequence);
  }

  #count(sequence: DraftedSequence, active: number, costs: StepCosts): number {
    const { generated, room, steps } = sequence;
    // The last token that there is room for comes of itself.
    const most = Math.min(this.#options.most, room - 1);
    if (most <= 0) return 0;
    const { drafts, depth } = this.#plan(sequence.acceptance.probability, most, active, costs);
    if (steps > 0) return steps < depth ? drafts : 0;
    return drafts === 0 && costs.isKnown && generated % PROBE_TOKENS === PROBE_TOKENS - 1 ? 1 : drafts;
  }

  #plan(acceptance: number, most: number, active: number, costs: StepCosts): DraftPlan {
    const { drafter, deepest, always = false } = this.#options;
    if (always) return { drafts: most, depth: deepest };
    if (!costs.isKnown) return { drafts: 0, depth: 1 };
    return draftPlan({
      acceptance,
      ringMs: (rows) => costs.ringMs(rows),
      slowestMs: (rows) => costs.slowestMs(rows),
      waysMs: costs.waysMs,
      active,
      draftMs: drafter?.draftMs ?? 0,
      most,
      deepest,
    });
  }
}
