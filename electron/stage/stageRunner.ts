import { checkFrame } from '../wire/checkFrame.ts';
import {
  ActivationFormat,
  type Epoch,
  type Run,
  type StepFailure,
  type StepFrame,
  RunEmbed as WireEmbed,
} from '../wire/generated/roomful/v1/ring.ts';
import { committedOf } from './committedOf.ts';
import { dropStaleRuns } from './dropStaleRuns.ts';
import type { NativeRun, NativeSampling, NativeStage, NativeStepResult, RunEmbed, StageRole } from './nativeAddon.ts';
import { nativeSampling } from './nativeSampling.ts';
import { padRuns } from './padRuns.ts';
import { givesRows, takesRows } from './roleRows.ts';
import type { Company } from './roundsInCompany.ts';
import type { RowCosts } from './rowCosts.ts';
import type { StageStats } from './stageContract.ts';

/** Frames in the addon's queue: one that computes and others that follow without a pause. */
const MAX_IN_ADDON = 4;
const NO_BYTES = new Uint8Array(0);
const embeds: Partial<Record<WireEmbed, RunEmbed>> = {
  [WireEmbed.RUN_EMBED_SUM]: 'sum',
  [WireEmbed.RUN_EMBED_LAST]: 'last',
  [WireEmbed.RUN_EMBED_POOLED]: 'pooled',
};
const { ACTIVATION_FORMAT_NONE, ACTIVATION_FORMAT_F16, ACTIVATION_FORMAT_F32 } = ActivationFormat;

export interface StageRunnerOptions {
  native: NativeStage;
  role: StageRole;
  pipeline: string;
  epoch: Epoch;
  position: number;
  slots: number;
  /** Most tokens in one step. */
  batch: number;
  /** The company in which rows of answers would be rounded otherwise, so that they are computed without it; none where it is left out. */
  company?: Company;
  /** What few rows cost, where it is known: others pad them where that is quicker. */
  rowCosts?: RowCosts | null;
  /** What a frame takes to come from the process before this stage, ms; null while that is not known. */
  wayMs?: () => number | null;
  /** Hears of each frame that is this stage's to compute. */
  onFrame?: () => void;
  /** Takes the frame for the follower; resolves when the next may come. */
  send: (frame: StepFrame) => Promise<void>;
}

/** A frame that cannot be computed as it is. */
class BadFrame extends Error {
  readonly code = 'BadFrame';
}

/** The work of one stage: computes the frames that it is given in their order and sends each on. */
export class StageRunner {
  readonly #options: StageRunnerOptions;
  /** Whether this stage takes activations, and whether it gives them. */
  readonly #takesRows: boolean;
  readonly #givesRows: boolean;
  readonly #generations = new Map<number, number>();
  /** Most tokens that lie in a slot; fewer where drafts were rejected. */
  readonly #held = new Map<number, number>();
  /** How the sequences of slots are sampled, on the stage that samples. */
  readonly #samplings = new Map<number, { generation: number; sampling: NativeSampling }>();
  readonly #stats: StageStats = {
    steps: 0,
    dropped: { WrongPipeline: 0, StaleEpoch: 0, UnknownEpoch: 0, StaleStep: 0 },
    staleRuns: 0,
  };
  #lastStep = -1;

  constructor(options: StageRunnerOptions) {
    this.#options = options;
    this.#takesRows = takesRows(options.role);
    this.#givesRows = givesRows(options.role);
  }

  get stats(): StageStats {
    return structuredClone(this.#stats);
  }

  /** Until the frames end; rejects when receiving or sending does. A step that cannot be computed goes on as a failure. */
  async run(frames: AsyncIterable<StepFrame>): Promise<void> {
    const { pipeline, epoch, send } = this.#options;
    const queue: Promise<void>[] = [];
    let last: Promise<void> = Promise.resolve();
    for await (const frame of frames) {
      const verdict = checkFrame({ pipeline, epoch, lastStep: this.#lastStep }, frame);
      if (verdict !== 'Accepted') {
        this.#stats.dropped[verdict] += 1;
        continue;
      }
      this.#lastStep = frame.step;
      this.#options.onFrame?.();
      const computed = this.#compute(frame);
      const before = last;
      last = (async () => {
        const result = await computed;
        await before;
        await send(result);
      })();
      // A loss is thrown where the queue is awaited; until then it must not count as unhandled.
      last.catch(() => {});
      queue.push(last);
      if (queue.length >= MAX_IN_ADDON) await queue.shift();
    }
    await last;
  }

  /** Hands a frame to the addon before it first waits, so that calls keep the order of the frames; never rejects. */
  async #compute(frame: StepFrame): Promise<StepFrame> {
    const receivedAt = performance.now();
    try {
      const { runs, activations } = this.#admit(frame);
      const closing = frame.closedSlots.map((slot) => this.#options.native.closeSlot(slot));
      const copying = runs.flatMap(({ slot, start, copyFrom }) =>
        copyFrom === undefined ? [] : [this.#options.native.copyPrefix(copyFrom.slot, slot, start)],
      );
      const decoding = runs.length === 0 ? null : this.#decode(frame, runs, activations);
      const [decoded] = await Promise.all([decoding, ...closing, ...copying]);
      if (frame.failure !== undefined) return this.#result(frame, { failure: frame.failure });
      this.#stats.steps += 1;
      this.#stats.staleRuns += decoded?.result.dropped ?? 0;
      if (decoded === null) return this.#result(frame, { runs });
      const computeUs = Math.round(decoded.result.computeMs * 1000);
      const totalUs = Math.round((performance.now() - receivedAt) * 1000);
      const outcome = this.#outcome(runs, decoded);
      const sentBytes = outcome.activations?.length ?? 0;
      const wayMs = this.#options.wayMs?.() ?? null;
      const timing = {
        stage: this.#options.position,
        computeUs,
        queueUs: Math.max(0, totalUs - computeUs),
        sentBytes,
        wayUs: wayMs === null ? undefined : Math.round(wayMs * 1000),
      };
      return this.#result(frame, { ...outcome, timings: [...frame.timings, timing] });
    } catch (error) {
      return this.#result(frame, { failure: this.#failureOf(error) });
    }
  }

  /** The runs that are to be computed, with their rows. Throws BadFrame. */
  #admit(frame: StepFrame): { runs: Run[]; activations: Uint8Array } {
    const { slots, batch } = this.#options;
    const rows = frame.runs.reduce((sum, run) => sum + run.tokens.length, 0);
    if (rows > batch) throw new BadFrame(`${rows} tokens in a step; ${batch} are allowed.`);
    const copied = frame.runs.flatMap(({ copyFrom }) => copyFrom?.slot ?? []);
    for (const slot of [...frame.closedSlots, ...frame.runs.map((run) => run.slot), ...copied]) {
      if (slot >= slots) throw new BadFrame(`Slot ${slot} does not exist; there are ${slots}.`);
    }
    if (frame.failure !== undefined) return { runs: [], activations: NO_BYTES };
    for (const slot of frame.closedSlots) {
      this.#samplings.delete(slot);
      this.#held.delete(slot);
    }
    const current = dropStaleRuns(frame.runs, frame.activations, this.#rowBytes(frame, rows), this.#generations);
    this.#stats.staleRuns += current.dropped;
    for (const run of current.runs) this.#checkCopy(run);
    for (const [slot, generation] of current.generations) this.#generations.set(slot, generation);
    for (const { slot, start, tokens } of current.runs) this.#held.set(slot, start + tokens.length);
    return current;
  }

  /** Throws BadFrame where what is to be copied has made way for another sequence. */
  #checkCopy({ slot, copyFrom }: Run): void {
    if (copyFrom === undefined || (this.#generations.get(copyFrom.slot) ?? 0) <= copyFrom.generation) return;
    throw new BadFrame(`Slot ${slot} was to go on from a sequence that has lost slot ${copyFrom.slot}.`);
  }

  /** Bytes of a row of the frame's activations, 0 where this stage takes none. Throws BadFrame when they do not fit. */
  #rowBytes(frame: StepFrame, rows: number): number {
    if (!this.#takesRows || rows === 0) return 0;
    const valueBytes = frame.format === ACTIVATION_FORMAT_F16 ? 2 : frame.format === ACTIVATION_FORMAT_F32 ? 4 : 0;
    const rowBytes = this.#options.native.embeddingLength * valueBytes;
    if (valueBytes === 0 || frame.activations.length !== rows * rowBytes) {
      throw new BadFrame(`${frame.activations.length} bytes of activations for ${rows} rows of ${rowBytes} bytes.`);
    }
    return rowBytes;
  }

  async #decode(frame: StepFrame, runs: Run[], activations: Uint8Array): Promise<Decoded> {
    const { native } = this.#options;
    const rows = runs.reduce((sum, run) => sum + run.tokens.length, 0);
    const output = this.#givesRows ? Buffer.allocUnsafe(rows * native.embeddingLength * 4) : null;
    const format = frame.format === ACTIVATION_FORMAT_F16 ? 'f16' : 'f32';
    const result = await native.decode({
      runs: this.#padded(
        runs.map((run) => this.#nativeRun(run, frame.exact)),
        frame.exact,
      ),
      input: this.#takesRows ? { format, bytes: activations } : null,
      output,
      outputFormat: frame.exact ? 'f32' : 'f16',
    });
    return { result, output };
  }

  #padded(runs: NativeRun[], exact: boolean): NativeRun[] {
    const { rowCosts, slots, batch } = this.#options;
    if (rowCosts == null || exact) return runs;
    return padRuns(runs, { costs: rowCosts, slots, batch, held: (slot) => this.#held.get(slot) ?? 0 });
  }

  #nativeRun(run: Run, exact: boolean): NativeRun {
    const { slot, start, tokens, truncateTo, drafts } = run;
    const sampling = this.#samplingOf(run);
    return {
      slot,
      start,
      tokens: Int32Array.from(tokens),
      truncateTo: truncateTo ?? null,
      sampling,
      drafts: sampling === null ? 0 : Math.min(drafts, tokens.length),
      aloneRows: this.#aloneRows(run, exact),
      embed: embeds[run.embed] ?? null,
    };
  }

  /**
   * Rows that are computed alone where company would round them otherwise: of drafts and of tokens of answers, and the last one of a
   * prompt, so that it is the same where all before it are held already. An exact ring takes prompts chunk by chunk in any case.
   * Of a text that becomes a vector none: no token hangs on its rounding.
   */
  #aloneRows({ tokens, drafts, sample, embed }: Run, exact: boolean): number {
    if (embeds[embed] !== undefined) return 0;
    const { company = 'none' } = this.#options;
    if (drafts > 0) return exact || company !== 'none' ? tokens.length : 0;
    if (tokens.length === 1) return company === 'any' ? 1 : 0;
    return sample && !exact && company !== 'none' ? 1 : 0;
  }

  /** Null where nothing is to be sampled here. Throws BadFrame where nobody said how. */
  #samplingOf({ slot, generation, sampling, sample }: Run): NativeSampling | null {
    if (this.#givesRows) return null;
    if (sampling !== undefined) this.#samplings.set(slot, { generation, sampling: nativeSampling(sampling) });
    if (!sample) return null;
    const kept = this.#samplings.get(slot);
    if (kept?.generation !== generation) throw new BadFrame(`A token of slot ${slot} is wanted, but not how.`);
    return kept.sampling;
  }

  #outcome(runs: Run[], { result, output }: Decoded): Partial<StepFrame> {
    if (output !== null) {
      const format = result.format === 'f16' ? ACTIVATION_FORMAT_F16 : ACTIVATION_FORMAT_F32;
      return { runs, format, activations: output.subarray(0, result.byteLength) };
    }
    return { committed: committedOf(runs, result) };
  }

  /** The frame for the follower. The coordinator gets back what the step made, not what it had asked for. */
  #result(frame: StepFrame, made: Partial<StepFrame>): StepFrame {
    const { pipeline, epoch, step, exact, timings } = frame;
    return {
      pipeline,
      epoch,
      step,
      exact,
      timings,
      format: ACTIVATION_FORMAT_NONE,
      activations: NO_BYTES,
      committed: [],
      failure: undefined,
      ...made,
      runs: this.#givesRows ? (made.runs ?? []) : [],
      closedSlots: this.#givesRows ? frame.closedSlots : [],
    };
  }

  #failureOf(error: unknown): StepFailure {
    const message = error instanceof Error ? error.message : String(error);
    const kind = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'Failed';
    return { stage: this.#options.position, kind, message };
  }
}

interface Decoded {
  result: NativeStepResult;
  output: Buffer | null;
}
