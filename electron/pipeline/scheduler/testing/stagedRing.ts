import type { Run, StepFrame } from '../../../wire/generated/roomful/v1/ring.ts';

/** What a model that adds one to the sum of all tokens so far (mod 97) would say: never 0. */
export function sumOf(log: readonly number[]): number {
  return (log.reduce((sum, token) => sum + token, 1) % 97) + 1;
}

/** Its next tokens. */
export function expectedAnswer(promptTokens: readonly number[], count: number): number[] {
  const log = [...promptTokens];
  for (let i = 0; i < count; i += 1) log.push(sumOf(log));
  return log.slice(promptTokens.length);
}

/** A stage that keeps its own KV, drops, checks and copies as a real one does. Takes no drafts. */
class Stage {
  readonly kv = new Map<number, number[]>();
  readonly #generations = new Map<number, number>();

  /** The runs that were computed. Throws where the step fails; `isFaulty` makes it fail once it has begun. */
  compute({ runs, closedSlots, failure }: StepFrame, isFaulty: boolean): readonly Run[] {
    for (const slot of closedSlots) this.kv.delete(slot);
    if (failure !== undefined) return [];
    const current = runs.filter(({ slot, generation }) => generation >= (this.#generations.get(slot) ?? 0));
    for (const { slot, generation } of current) this.#generations.set(slot, generation);
    for (const { slot, start, copyFrom } of current) {
      if (copyFrom === undefined) continue;
      if ((this.#generations.get(copyFrom.slot) ?? 0) > copyFrom.generation)
        throw new Error('copied from a stale seat');
      const held = this.#held(copyFrom.slot);
      if (held.length < start) throw new Error(`${start} tokens of a slot that holds ${held.length} were to be copied`);
      this.kv.set(slot, held.slice(0, start));
    }
    for (const { slot, start, truncateTo } of current) {
      const held = this.#held(slot).slice(0, truncateTo);
      if (held.length !== start) throw new Error(`the slot holds ${held.length} tokens; the run starts at ${start}`);
      this.kv.set(slot, held);
    }
    if (isFaulty) throw new Error('injected');
    for (const { slot, tokens } of current) this.#held(slot).push(...tokens);
    return current;
  }

  #held(slot: number): number[] {
    return this.kv.get(slot) ?? [];
  }
}

/** A ring whose frames go round one at a time, when they are told to. */
export class StagedRing {
  readonly frames: StepFrame[] = [];
  readonly stages: readonly Stage[];
  readonly #waiting: StepFrame[] = [];

  constructor(stages: number) {
    this.stages = Array.from({ length: stages }, () => new Stage());
  }

  readonly send = (frame: StepFrame): void => {
    this.frames.push(frame);
    this.#waiting.push(frame);
  };

  /** What the oldest frame comes back as, after stage `faulty` could not compute it; null where none is under way. */
  next(faulty: number | null = null): StepFrame | null {
    const frame = this.#waiting.shift();
    if (frame === undefined) return null;
    const back: StepFrame = { ...frame, runs: [], closedSlots: [], committed: [] };
    for (const [index, stage] of this.stages.entries()) {
      try {
        const computed = stage.compute({ ...frame, failure: back.failure }, index === faulty && frame.runs.length > 0);
        if (index < this.stages.length - 1) continue;
        for (const { slot, generation, start, tokens } of computed.filter(({ sample }) => sample)) {
          const position = start + tokens.length;
          const nothing = { logprobs: [], failure: undefined, hidden: [] };
          const token = sumOf(stage.kv.get(slot) ?? []);
          back.committed.push({ slot, generation, position, tokens: [token], ...nothing });
        }
      } catch (cause) {
        back.failure = { stage: index, kind: 'DecodeFailed', message: cause instanceof Error ? cause.message : '' };
      }
    }
    return back;
  }
}
