import {
  ActivationFormat,
  type Committed,
  type Epoch,
  type Run,
  type StepFrame,
} from '../wire/generated/roomful/v1/ring.ts';
import { generatedTokens } from './generatedTokens.ts';
import { PipelineError } from './pipelineError.ts';
import { Sequence } from './sequence.ts';
import type { GeneratedToken, GenerateRequest } from './servedModel.ts';
import { SlotTable } from './slotTable.ts';
import { nextRun } from './stepScheduler.ts';
import { wireSampling } from './wireSampling.ts';

export interface PipelineConfig {
  id: string;
  epoch: Epoch;
  stages: number;
  slots: number;
  /** Tokens that one sequence may take, prompt and answer. */
  sequenceLength: number;
  /** Most tokens of one prefill chunk. */
  chunk: number;
  /** Keep activations at f32 on the wire. */
  exact: boolean;
  endTokens: ReadonlySet<number>;
  /** Requests that may wait for a seat. */
  queueLimit: number;
  /** A step that has not come back after this many ms ends the pipeline. */
  stepDeadlineMs: number;
}

/** KV bookkeeping goes with the next step; when none is due within this many ms it goes alone. */
const BOOKKEEPING_DELAY_MS = 50;

interface StepInFlight {
  sequence: Sequence | null;
  prefill: boolean;
  sentAt: number;
}

/**
 * The coordinator's end of a ring: admits requests, sends steps to stage 0 through `send` and commits the tokens that
 * come back through `receive`. Knows nothing of sockets. Steps travel in order, so the steps of a slot do too.
 */
export class Pipeline {
  readonly config: PipelineConfig;
  /** Called once when the pipeline has ended, whatever ended it. */
  onEnd: (() => void) | null = null;
  readonly #send: (frame: StepFrame) => void;
  readonly #now: () => number;
  readonly #slots: SlotTable;
  readonly #running = new Map<number, Sequence>();
  readonly #waiting: Sequence[] = [];
  readonly #inFlight = new Map<number, StepInFlight>();
  readonly #deadline: NodeJS.Timeout;
  #closedSlots: number[] = [];
  #bookkeeping: NodeJS.Timeout | null = null;
  #nextId = 0;
  #nextStep = 1;
  #prefillInFlight = 0;
  #failure: PipelineError | null = null;

  constructor(config: PipelineConfig, send: (frame: StepFrame) => void, now: () => number = () => performance.now()) {
    this.config = config;
    this.#send = send;
    this.#now = now;
    this.#slots = new SlotTable(config.slots);
    this.#deadline = setInterval(() => this.#checkDeadline(), Math.min(1000, config.stepDeadlineMs));
    this.#deadline.unref();
  }

  /** What ended this pipeline, null while it serves. */
  get failure(): PipelineError | null {
    return this.#failure;
  }

  /** See `ServedModel.generate`. */
  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GeneratedToken, void, void> {
    signal.throwIfAborted();
    const sequence = this.#admit(request);
    const abort = (): void => this.#leave(sequence, asError(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    try {
      for (;;) {
        const token = await sequence.next();
        if (token === null) return;
        yield token;
      }
    } finally {
      signal.removeEventListener('abort', abort);
      this.#leave(sequence, null);
    }
  }

  /** Takes a frame that came back from the last stage. */
  receive(frame: StepFrame): void {
    const step = this.#inFlight.get(frame.step);
    if (step === undefined || frame.pipeline !== this.config.id) return;
    this.#inFlight.delete(frame.step);
    if (step.prefill) this.#prefillInFlight -= 1;
    if (frame.failure !== undefined) {
      const { stage, message } = frame.failure;
      const error = new PipelineError('DecodeFailed', `Stage ${stage} could not compute: ${message}`);
      if (step.sequence !== null) this.#leave(step.sequence, error);
    }
    for (const committed of frame.committed) if (step.sequence !== null) this.#commit(step.sequence, committed);
    this.#pump();
  }

  #commit(sequence: Sequence, committed: Committed): void {
    const { slot, generation, position, failure } = committed;
    if (sequence.slot?.slot !== slot || sequence.slot.generation !== generation) return;
    for (const [index, token] of generatedTokens(committed).entries()) {
      if (!sequence.commit(position + index, token)) continue;
      const full = sequence.length >= this.config.sequenceLength;
      if (this.config.endTokens.has(token.id) || sequence.generated >= sequence.request.maxTokens || full) {
        this.#leave(sequence, null);
        return;
      }
    }
    if (failure !== undefined)
      this.#leave(sequence, new PipelineError('DecodeFailed', `No token could be drawn: ${failure}.`));
  }

  /** Ends the pipeline: every request that runs or waits rejects with `error`. */
  fail(error: PipelineError): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    clearInterval(this.#deadline);
    if (this.#bookkeeping !== null) clearTimeout(this.#bookkeeping);
    for (const sequence of [...this.#running.values(), ...this.#waiting]) sequence.end(error);
    this.#running.clear();
    this.#waiting.length = 0;
    this.#inFlight.clear();
    this.onEnd?.();
  }

  #admit(request: GenerateRequest): Sequence {
    if (this.#failure !== null) throw this.#failure;
    if (this.#slots.freeCount === 0 && this.#waiting.length >= this.config.queueLimit) {
      throw new PipelineError(
        'QueueFull',
        `${this.#waiting.length} requests are waiting already; try again in a moment.`,
      );
    }
    const sequence = new Sequence(this.#nextId, request);
    this.#nextId += 1;
    this.#waiting.push(sequence);
    this.#pump();
    return sequence;
  }

  /** Ends a sequence and gives its seat back; harmless when it has left already. */
  #leave(sequence: Sequence, error: Error | null): void {
    sequence.end(error);
    const waiting = this.#waiting.indexOf(sequence);
    if (waiting >= 0) this.#waiting.splice(waiting, 1);
    if (!this.#running.delete(sequence.id) || sequence.slot === null) return;
    this.#closedSlots.push(sequence.slot.slot);
    this.#slots.release(sequence.slot.slot);
    this.#pump();
  }

  /** Seats waiting sequences and sends every step that may go now. */
  #pump(): void {
    if (this.#failure !== null) return;
    while (this.#waiting.length > 0) {
      const slot = this.#slots.take();
      if (slot === null) break;
      const sequence = this.#waiting.shift();
      if (sequence === undefined) break;
      sequence.slot = slot;
      this.#running.set(sequence.id, sequence);
    }
    const limits = { chunk: this.config.chunk, prefillInFlight: this.config.stages + 1 };
    for (;;) {
      const next = nextRun(this.#running.values(), this.#prefillInFlight, limits);
      const sequence = next === null ? undefined : this.#running.get(next.id);
      if (next === null || sequence === undefined || sequence.slot === null) break;
      const { slot, generation } = sequence.slot;
      const tokens = sequence.log.slice(next.start, next.start + next.count);
      const { sample } = next;
      const tellsHow = sample && !sequence.toldHow;
      const sampling = tellsHow ? wireSampling(sequence.request.sampling, sequence.promptLength) : undefined;
      if (tellsHow) sequence.toldHow = true;
      const prefill = next.start < sequence.promptLength;
      sequence.sent = next.start + next.count;
      sequence.lastStep = this.#nextStep;
      if (prefill) this.#prefillInFlight += 1;
      this.#dispatch([{ slot, generation, start: next.start, tokens, sampling, sample, drafts: 0 }], sequence, prefill);
    }
    if (this.#closedSlots.length > 0 && this.#bookkeeping === null) {
      this.#bookkeeping = setTimeout(() => {
        this.#bookkeeping = null;
        if (this.#closedSlots.length > 0) this.#dispatch([], null, false);
      }, BOOKKEEPING_DELAY_MS);
    }
  }

  #dispatch(runs: Run[], sequence: Sequence | null, prefill: boolean): void {
    const step = this.#nextStep;
    this.#nextStep += 1;
    this.#inFlight.set(step, { sequence, prefill, sentAt: this.#now() });
    const closedSlots = this.#closedSlots;
    this.#closedSlots = [];
    if (this.#bookkeeping !== null) {
      clearTimeout(this.#bookkeeping);
      this.#bookkeeping = null;
    }
    this.#send({
      pipeline: this.config.id,
      epoch: this.config.epoch,
      step,
      runs,
      format: ActivationFormat.ACTIVATION_FORMAT_NONE,
      activations: Buffer.alloc(0),
      exact: this.config.exact,
      closedSlots,
      timings: [],
      committed: [],
      failure: undefined,
    });
  }

  #checkDeadline(): void {
    const [oldest] = this.#inFlight.values();
    if (oldest === undefined || this.#now() - oldest.sentAt < this.config.stepDeadlineMs) return;
    const seconds = Math.round(this.config.stepDeadlineMs / 1000);
    this.fail(new PipelineError('StepDeadline', `A step did not come back within ${seconds} s; a stage hangs.`));
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
