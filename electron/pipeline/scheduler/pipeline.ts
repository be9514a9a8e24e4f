import {
  ActivationFormat,
  type Committed,
  type Epoch,
  type PrefixSource,
  type Run,
  RunEmbed,
  type StepFrame,
} from '../../wire/generated/roomful/v1/ring.ts';
import { encodeStepFrame } from '../../wire/stepFrameCodec.ts';
import { PipelineCounter, type PipelineNumbers } from '../numbers/pipelineNumbers.ts';
import { type StepTimes, stepTimes } from '../numbers/stepTimes.ts';
import { PipelineError } from '../pipelineError.ts';
import { greedySampling } from '../sampling/plainSampling.ts';
import { wireSampling } from '../sampling/wireSampling.ts';
import type { EmbedRequest, GeneratedToken, GenerateRequest } from '../serving/servedModel.ts';
import type { Speculation } from '../speculation/speculation.ts';
import { generatedTokens } from './generatedTokens.ts';
import { groupSize } from './groupSize.ts';
import { prefillChunk } from './prefillChunk.ts';
import { PrefixSharing } from './prefixSharing.ts';
import { retryAfter } from './retryAfter.ts';
import type { Seat } from './seatTable.ts';
import { Sequence } from './sequence.ts';
import { StepCosts } from './stepCosts.ts';
import { type NextRun, type NextStep, nextStep, runOf } from './stepScheduler.ts';
import { TextVector, type VectorOf } from './textVector.ts';

export interface PipelineConfig {
  id: string;
  epoch: Epoch;
  stages: number;
  slots: number;
  /** Tokens that one sequence may take, prompt and answer. */
  sequenceLength: number;
  /** Most tokens of one prefill chunk, and of any step. */
  chunk: number;
  /** Chunks of prompts are just as large, as those of an exact ring are, rather than as long prompts pass the stages soonest. */
  fixedChunk?: boolean;
  /** Keep activations at f32 on the wire, and the bits of one machine that serves nobody else. */
  exact: boolean;
  /** Whether the KV of a slot can be cut anywhere: a recurrent state cannot, so its prefixes and drafts are of no use. */
  rewinds: boolean;
  /** What a text's vector is; the mean of its tokens' hidden states where it is left out. */
  vectors?: VectorOf;
  endTokens: ReadonlySet<number>;
  /** Requests that may wait for a seat. */
  queueLimit: number;
  /** A step that has not come back after this many ms ends the pipeline. */
  stepDeadlineMs: number;
  /** Which ends of the ring cross to another member, so that their bytes are counted; none where it is left out. */
  crosses?: { entry: boolean; exit: boolean };
}

/** KV bookkeeping goes with the next step; when none is due within this many ms it goes alone. */
const BOOKKEEPING_DELAY_MS = 50;

type StepKind = NextStep['kind'] | 'bookkeeping';

/** A sequence in a step. */
interface CarriedRun {
  sequence: Sequence;
  /** As it sat when it was sent; what comes back of a seat that it no longer has is stale. */
  seat: Seat;
}

interface StepInFlight {
  carried: readonly CarriedRun[];
  /** Bookkeeping computes nothing. */
  kind: StepKind;
  rows: number;
  sentAt: number;
  /** One row, sent while nothing else was under way. */
  alone: boolean;
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
  readonly #speculation: Speculation | null;
  readonly #now: () => number;
  readonly #sharing: PrefixSharing;
  /** Of steps by the sequences that share them, and of one sequence by its rows. */
  readonly #costs = new StepCosts();
  readonly #draftCosts = new StepCosts();
  readonly #counter: PipelineCounter;
  readonly #running = new Map<number, Sequence>();
  readonly #waiting: Sequence[] = [];
  readonly #inFlight = new Map<number, StepInFlight>();
  readonly #deadline: NodeJS.Timeout;
  readonly #closedSlots = new Set<number>();
  #bookkeeping: NodeJS.Timeout | null = null;
  #nextId = 0;
  #nextStep = 1;
  readonly #kindsInFlight = { prefill: 0, decode: 0, ahead: 0, bookkeeping: 0 };
  #failure: PipelineError | null = null;
  #exitMs: number | null = null;

  constructor(
    config: PipelineConfig,
    send: (frame: StepFrame) => void,
    {
      speculation = null,
      now = () => performance.now(),
    }: { speculation?: Speculation | null; now?: () => number } = {},
  ) {
    this.config = config;
    this.#send = send;
    this.#speculation = config.rewinds ? speculation : null;
    this.#now = now;
    this.#sharing = new PrefixSharing(config, this.#running);
    this.#counter = new PipelineCounter(config.stages);
    this.#deadline = setInterval(() => this.#checkDeadline(), Math.min(1000, config.stepDeadlineMs));
    this.#deadline.unref();
  }

  readonly #chunkOf = (promptLength: number): number => {
    const { chunk, fixedChunk = false, exact, stages, vectors } = this.config;
    return fixedChunk || exact || vectors === 'text' ? chunk : prefillChunk(promptLength, stages, chunk);
  };

  /** What ended this pipeline, null while it serves. */
  get failure(): PipelineError | null {
    return this.#failure;
  }

  /** What it has done so far. */
  get numbers(): PipelineNumbers {
    const { slots } = this.config;
    const now = { running: this.#running.size, queued: this.#waiting.length, slots };
    return this.#counter.numbers({ ...now, networkMs: this.#costs.networkMs, exitMs: this.#exitMs });
  }

  /** See `ServedModel.generate`. */
  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GeneratedToken, void, void> {
    signal.throwIfAborted();
    yield* this.#tokensOf(this.#admit(request), signal);
  }

  /** See `ServedModel.embed`. */
  async embed({ tokens, bulk = false }: EmbedRequest, signal: AbortSignal): Promise<Float32Array> {
    signal.throwIfAborted();
    const vector = new TextVector(tokens.length, this.config.vectors ?? 'mean');
    const request = { promptTokens: tokens, maxTokens: 0, sampling: greedySampling, bulk };
    for await (const _ of this.#tokensOf(this.#admit(request, vector), signal));
    return vector.values;
  }

  async *#tokensOf(sequence: Sequence, signal: AbortSignal): AsyncGenerator<GeneratedToken, void, void> {
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

  /** Takes a frame that came back from the last stage; `exitMs` is how long frames take from there, where it is known. */
  receive(frame: StepFrame, exitMs: number | null = null): void {
    this.#exitMs = exitMs ?? this.#exitMs;
    if (this.config.crosses?.exit) this.#counter.add({ exitBytes: encodeStepFrame(frame).length });
    const step = this.#inFlight.get(frame.step);
    if (step === undefined || frame.pipeline !== this.config.id) return;
    this.#inFlight.delete(frame.step);
    this.#kindsInFlight[step.kind] -= 1;
    for (const { sequence } of step.carried) sequence.guesses.back(frame.step);
    this.#measure(step, frame);
    const doubtful = this.#sharing.back(frame.step);
    if (frame.failure !== undefined) {
      const { stage, message } = frame.failure;
      const error = new PipelineError('DecodeFailed', `Stage ${stage} could not compute: ${message}`);
      for (const { sequence, seat } of step.carried) {
        if (sequence.seat === seat) this.#end(sequence, error, false);
      }
      for (const slot of doubtful) if (this.#sharing.doubt(slot)) this.#closedSlots.add(slot);
    }
    for (const committed of frame.committed) {
      const carried = step.carried.find(({ seat }) => seat.slot === committed.slot);
      if (carried === undefined || carried.sequence.seat !== carried.seat) continue;
      if (carried.seat.generation === committed.generation) this.#commit(carried, committed);
    }
    this.#pump();
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

  #measure({ carried, kind, rows, sentAt, alone }: StepInFlight, { timings, failure }: StepFrame): void {
    const returnedAt = this.#now();
    const ringMs = returnedAt - sentAt;
    const stages = timings.map(({ stage, computeUs, queueUs, sentBytes, wayUs }) => {
      const wayMs = wayUs === undefined ? null : wayUs / 1000;
      return { stage, computeMs: computeUs / 1000, queueMs: queueUs / 1000, sentBytes, wayMs };
    });
    // Steps come back in order, so one that was sent meanwhile is still under way.
    const wasAlone = alone && kind === 'decode' && failure === undefined && this.#inFlight.size === 0;
    this.#counter.step(stages, kind === 'decode' ? ringMs : null, wasAlone);
    if (kind === 'prefill') this.#counter.prefilled(ringMs);
    if (kind !== 'decode' || stages.length !== this.config.stages) return;
    if (stepTimes.hasSubscribers) {
      const times: StepTimes = { pipeline: this.config.id, rows, sentAt, returnedAt, stages };
      stepTimes.publish(times);
    }
    const ways = [...stages.map(({ wayMs }) => wayMs), this.#exitMs];
    const waysMs = ways.reduce((sum, wayMs) => (sum === null || wayMs === null ? null : sum + wayMs), 0);
    // Rows of drafts are not computed as those of sequences that share a step.
    if (carried.length === rows) this.#costs.observe({ rows, stages, ringMs, waysMs });
    if (carried.length === 1) this.#draftCosts.observe({ rows, stages, ringMs, waysMs });
  }

  #commit({ sequence }: CarriedRun, { position, failure, ...committed }: Committed): void {
    if (sequence.hasEnded) return;
    if (sequence.vector !== null) {
      if (sequence.vector.add(position, committed.hidden)) this.#leave(sequence, null);
      return;
    }
    // The log has moved on.
    if (position !== sequence.length) return;
    const tokens = generatedTokens({ position, failure, ...committed });
    const ids = tokens.map(({ id }) => id);
    this.#counter.add({ acceptedTokens: sequence.judge(position, ids).accepted });
    for (const [index, token] of tokens.entries()) {
      sequence.commit(position + index, token);
      this.#counter.add({ generatedTokens: 1 });
      const full = sequence.length >= this.config.sequenceLength;
      if (this.config.endTokens.has(token.id) || sequence.generated >= sequence.request.maxTokens || full) {
        this.#leave(sequence, null);
        return;
      }
    }
    if (failure !== undefined) {
      this.#leave(sequence, new PipelineError('DecodeFailed', `No token could be drawn: ${failure}.`), false);
      return;
    }
    this.#draft(sequence);
  }

  /** Lets drafts be made for the next run of a sequence: one that waits for it, or one on top of guesses under way. */
  #draft(sequence: Sequence): void {
    const { id, length, guesses, acceptance, request } = sequence;
    const { endTokens, sequenceLength } = this.config;
    if (this.#speculation === null || guesses.areMade || guesses.next.length > 0) return;
    if (guesses.steps === 0 && sequence.sent >= length) return;
    if (guesses.underWay.some((token) => endTokens.has(token))) return;
    const log = sequence.believed;
    const generated = log.length - sequence.promptLength;
    const drafts = this.#speculation.draft(
      {
        ...{ id, log, acceptance, sampling: request.sampling, steps: guesses.steps },
        generated: generated + (request.answered ?? 0),
        room: Math.min(request.maxTokens - generated, sequenceLength - log.length),
      },
      this.#running.size,
      this.#draftCosts,
    );
    const asked = guesses.ask(log.length);
    if (!(drafts instanceof Promise)) {
      guesses.settle(asked, drafts, sequence.log);
      return;
    }
    void drafts.then((made) => {
      if (sequence.hasEnded) return;
      if (guesses.settle(asked, made, sequence.log) === 'missed') this.#draft(sequence);
      this.#pump();
    });
  }

  #admit(request: GenerateRequest, vector: TextVector | null = null): Sequence {
    if (this.#failure !== null) throw this.#failure;
    if (this.#sharing.freeCount === 0 && this.#waiting.length >= this.config.queueLimit) {
      throw new PipelineError(
        'QueueFull',
        `${this.#waiting.length} requests are waiting already; try again in a moment.`,
        { retryAfter: retryAfter(this.numbers) },
      );
    }
    const { sequenceLength } = this.config;
    const length = request.promptTokens.length;
    if (length < 1 || length > sequenceLength || (vector === null && length === sequenceLength)) {
      const what = length < 1 ? 'The prompt is empty' : `The prompt has ${length} tokens`;
      throw new PipelineError('BadPrompt', `${what}; the context is ${sequenceLength} tokens, answer included.`);
    }
    const sequence = new Sequence(this.#nextId, request, vector);
    this.#nextId += 1;
    const firstBulk = sequence.bulk ? -1 : this.#waiting.findIndex(({ bulk }) => bulk);
    this.#waiting.splice(firstBulk < 0 ? this.#waiting.length : firstBulk, 0, sequence);
    this.#pump();
    return sequence;
  }

  /**
   * Ends a sequence and gives its seat back; harmless when it has left already. `known` says that every stage holds what it
   * was sent, so that a later request may go on from it.
   */
  #leave(sequence: Sequence, error: Error | null, known = true): void {
    if (this.#end(sequence, error, known)) this.#pump();
  }

  /** As `#leave`, and sends nothing; false where it had no seat. */
  #end(sequence: Sequence, error: Error | null, known: boolean): boolean {
    sequence.end(error);
    const waiting = this.#waiting.indexOf(sequence);
    if (waiting >= 0) this.#waiting.splice(waiting, 1);
    if (!this.#running.delete(sequence.id) || sequence.seat === null) return false;
    if (!this.#sharing.leave(sequence, sequence.seat, known)) this.#closedSlots.add(sequence.seat.slot);
    this.#speculation?.forget(sequence.id);
    return true;
  }

  /** Seats waiting sequences and sends every step that may go now. */
  #pump(): void {
    if (this.#failure !== null) return;
    this.#seatWaiting();
    this.#sharing.review();
    const limits = {
      stages: this.config.stages,
      chunk: this.#chunkOf,
      prefillInFlight: this.config.stages + 1,
      sharedRows: this.config.vectors === 'text' ? this.config.chunk : 0,
      groupSize: (active: number) =>
        this.config.exact ? 1 : groupSize(active, this.config.stages, this.#costs, this.config.chunk),
    };
    for (;;) {
      const inFlight = { ...this.#kindsInFlight, nextStep: this.#nextStep };
      const next = nextStep(this.#running.values(), inFlight, limits);
      if (next === null) break;
      this.#sendStep(next.runs, next.kind);
    }
    if (this.#closedSlots.size > 0 && this.#bookkeeping === null) {
      this.#bookkeeping = setTimeout(() => {
        this.#bookkeeping = null;
        if (this.#closedSlots.size > 0) this.#dispatch([], [], 'bookkeeping');
      }, BOOKKEEPING_DELAY_MS);
    }
  }

  #seatWaiting(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!this.#sharing.seat(next)) return;
      this.#waiting.shift();
      this.#running.set(next.id, next);
      this.#counter.add({ requests: 1 });
      if (next.vector === null) this.#speculation?.prepare(next.id, next.log);
    }
  }

  /** Says what the first run of a sequence goes on from; gives what is copied into its seat for that, null for nothing. */
  #begin(sequence: Sequence): PrefixSource | null {
    const copyFrom = this.#sharing.begin(sequence);
    if (!sequence.toldBegin) {
      sequence.toldBegin = true;
      const cachedTokens = sequence.sent;
      this.#counter.add({ cachedTokens, promptTokens: sequence.promptLength - cachedTokens });
      sequence.request.onSeated?.({ cachedTokens });
    }
    return copyFrom;
  }

  #sendStep(planned: readonly NextRun[], kind: NextStep['kind']): void {
    let room = this.config.chunk - planned.reduce((sum, { count }) => sum + count, 0);
    const runs: Run[] = [];
    const carried: CarriedRun[] = [];
    for (const next of planned) {
      const sequence = this.#running.get(next.id);
      if (sequence?.seat == null) continue;
      const copyFrom = sequence.isFresh ? this.#begin(sequence) : null;
      const { start, count, sample } = copyFrom === null ? next : runOf(sequence, next.count);
      const drafts = sample && kind !== 'prefill' ? sequence.guesses.next.slice(0, room) : [];
      room -= drafts.length;
      const run = this.#runOf(sequence, sequence.seat, { start, count, sample }, drafts);
      runs.push({ ...run, copyFrom: copyFrom ?? undefined });
      carried.push({ sequence, seat: sequence.seat });
      sequence.guesses.send(this.#nextStep, drafts);
      this.#counter.add({ draftedTokens: drafts.length });
      sequence.truncateTo = null;
      sequence.sent = start + count + drafts.length;
      sequence.lastStep = this.#nextStep;
    }
    this.#sharing.sent(
      this.#nextStep,
      runs.map(({ slot }) => slot),
    );
    // Decodes of ascending slots are computed at once.
    runs.sort((a, b) => a.slot - b.slot);
    this.#dispatch(runs, carried, kind);
    if (kind !== 'prefill') for (const { sequence } of carried) this.#draft(sequence);
  }

  #runOf(
    sequence: Sequence,
    { slot, generation }: NonNullable<Sequence['seat']>,
    { start, count, sample }: Omit<NextRun, 'id'>,
    drafts: readonly number[],
  ): Omit<Run, 'copyFrom'> {
    const { vector } = sequence;
    const answers = sample && vector === null;
    const tellsHow = answers && !sequence.toldHow;
    if (tellsHow) sequence.toldHow = true;
    return {
      slot,
      generation,
      start,
      tokens: [...sequence.log.slice(start, start + count), ...drafts],
      truncateTo: sequence.truncateTo ?? undefined,
      sampling: tellsHow
        ? wireSampling(sequence.request.sampling, sequence.promptLength - (sequence.request.answered ?? 0))
        : undefined,
      sample: answers,
      drafts: drafts.length,
      embed: vector?.asked(start + count) ?? RunEmbed.RUN_EMBED_NONE,
    };
  }

  #dispatch(runs: Run[], carried: readonly CarriedRun[], kind: StepKind): void {
    const step = this.#nextStep;
    this.#nextStep += 1;
    this.#kindsInFlight[kind] += 1;
    const rows = runs.reduce((sum, { tokens }) => sum + tokens.length, 0);
    const alone = rows === 1 && this.#inFlight.size === 0;
    this.#inFlight.set(step, { carried, kind, rows, sentAt: this.#now(), alone });
    const closedSlots = [...this.#closedSlots];
    this.#closedSlots.clear();
    if (this.#bookkeeping !== null) {
      clearTimeout(this.#bookkeeping);
      this.#bookkeeping = null;
    }
    const frame: StepFrame = {
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
    };
    if (this.config.crosses?.entry) this.#counter.add({ entryBytes: encodeStepFrame(frame).length });
    this.#send(frame);
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
