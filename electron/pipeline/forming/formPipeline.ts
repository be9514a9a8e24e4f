import type { TextEmbedding } from '../../planner/modelShape.ts';
import { followRing } from '../../wire/followRing.ts';
import type { StageEvent, StageLoaded, StageProgress } from '../../wire/generated/roomful/v1/member.ts';
import type { Epoch, StepFrame } from '../../wire/generated/roomful/v1/ring.ts';
import type { MemberClient } from '../../wire/memberClient.ts';
import type { RingServer } from '../../wire/ringServer.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { LinkLost, PeerUnreachable } from '../../wire/wireError.ts';
import { PipelineError } from '../pipelineError.ts';
import { greedySampling } from '../sampling/plainSampling.ts';
import { Pipeline, type PipelineConfig } from '../scheduler/pipeline.ts';
import { vectorOf } from '../scheduler/textVector.ts';
import type { Speculation } from '../speculation/speculation.ts';
import type { ModelHolder } from './modelFiles.ts';
import { RingLife } from './ringLife.ts';
import { StageTooLarge } from './stageTooLarge.ts';

/** Layers [startLayer, endLayer) on one member. */
export interface StagePlacement {
  member: MemberClient;
  name: string;
  startLayer: number;
  endLayer: number;
  /** Planned. */
  bytes: number;
}

/** The process that forms and drives the ring. */
export interface Coordinator {
  member: string;
  tls: TlsMaterial;
  ring: RingServer;
  /** `host:port` at which the first stage finds `ring`. */
  address: string;
  /** Hears of members that the ring shows to live; called often. */
  onAlive?: (member: string) => void;
}

export interface FormRequest {
  id: string;
  epoch: Epoch;
  stages: StagePlacement[];
  /** Content id of the model, and who has all of it. */
  model: string;
  holders: readonly ModelHolder[];
  /** Tokens over all slots. */
  contextLength: number;
  slots: number;
  batch: number;
  kvType: 'f16' | 'q8_0';
  exact: boolean;
  /** See `PipelineConfig`. */
  fixedChunk: boolean;
  rewinds: boolean;
  speculation: Speculation | null;
  /** How it turns texts into vectors where it writes none, else null. */
  textEmbedding: TextEmbedding | null;
  endTokens: ReadonlySet<number>;
  /** A token that the model knows, to warm the ring with. */
  warmToken: number;
}

export interface StageLoading {
  /** Index of the stage. */
  stage: number;
  member: string;
  phase: 'fetching' | 'cutting' | 'loading' | 'checking' | 'loaded';
  /** 0 to 1. */
  fraction: number;
  /** Of the tensors, while they are cut, fetched, or read once more to see whether they are what they should be. */
  bytes?: { done: number; total: number };
}

export interface FormOptions {
  onProgress?: (progress: StageLoading) => void;
  /** Called when all stages have loaded, and when they are linked. */
  onPhase?: (phase: 'linking' | 'warming') => void;
  signal?: AbortSignal;
  /** The address by which a process reaches another; the identity unless something lies between them. */
  route?: (address: string) => string | Promise<string>;
}

export interface FormedPipeline {
  pipeline: Pipeline;
  /** What each stage took, by position. */
  taken: { weightBytes: number; kvBytes: number; computeBytes: number }[];
  /** Resolves when the pipeline has ended, by `close` or by a loss; its stages are unloaded then. */
  ended: Promise<void>;
  /** Ends every request, unloads every stage and closes the links. */
  close(): Promise<void>;
}

const QUEUE_LIMIT = 64;
const STEP_DEADLINE_MS = 120_000;

/**
 * Loads every stage, links the ring and sends one real token round it. Resolves when the pipeline serves. Rejects with a
 * PipelineError, or the signal's reason, and leaves nothing loaded. A stage that is lost later ends the pipeline.
 */
export async function formPipeline(
  coordinator: Coordinator,
  request: FormRequest,
  { onProgress = () => {}, onPhase = () => {}, signal, route = (address) => address }: FormOptions = {},
): Promise<FormedPipeline> {
  const { id, epoch, stages } = request;
  const first = stages[0];
  if (first === undefined) throw new PipelineError('FormFailed', 'A pipeline needs at least one stage.');
  const lastPosition = stages.length;
  const stop = new AbortController();
  const abort = (): void => stop.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', abort, { once: true });

  const pipelineConfig: PipelineConfig = {
    id,
    epoch,
    stages: stages.length,
    slots: request.slots,
    sequenceLength: Math.floor(request.contextLength / request.slots),
    chunk: request.batch,
    exact: request.exact,
    fixedChunk: request.fixedChunk,
    rewinds: request.rewinds,
    endTokens: request.endTokens,
    vectors: vectorOf(request.textEmbedding),
    queueLimit: QUEUE_LIMIT,
    stepDeadlineMs: STEP_DEADLINE_MS,
    crosses: {
      entry: first.member.member !== coordinator.member,
      exit: stages.at(-1)?.member.member !== coordinator.member,
    },
  };
  const callings = stages.flatMap(({ member, name }) => callingsOf(name, member.address, `member ${member.member}`));
  const lose = (what: string, name: string, cause: unknown): void => {
    const message = isBroken(cause)
      ? `${name} was lost: the connection to it broke.`
      : `${what}: ${byName(messageOf(cause), callings)}`;
    pipeline.fail(new PipelineError('StageLost', message, { cause }));
  };
  const outlet = coordinator.ring.open({ pipeline: id, epoch, position: 0, follower: first.member.member }, (cause) =>
    lose(`The first stage, on ${first.name}, was lost`, first.name, cause),
  );
  const life = new RingLife(
    stages.map(({ member }) => member.member),
    (member) => coordinator.onAlive?.(member),
  );
  const send = (frame: StepFrame): void => {
    life.sent(frame.step);
    outlet.send(frame).catch((cause: unknown) => lose('The ring broke', first.name, cause));
  };
  const pipeline = new Pipeline(pipelineConfig, send, { speculation: request.speculation });
  const ended = new Promise<void>((resolve) => {
    pipeline.onEnd = () => {
      stop.abort();
      resolve();
    };
  });
  let running: RunningStage[] = [];
  const unload = async (): Promise<void> => {
    signal?.removeEventListener('abort', abort);
    pipeline.fail(new PipelineError('Closed', 'The model has been stopped.'));
    await Promise.all([outlet.close(), ...running.map(({ ended }) => ended)]);
  };

  try {
    running = stages.map((stage, position) => {
      const follower = stages[position + 1]?.member.member ?? coordinator.member;
      const { member, name, startLayer, endLayer } = stage;
      const { model, contextLength, slots, batch, kvType } = request;
      const shape = { startLayer, endLayer, contextLength, slots, batch, kvType, threads: 0 };
      const order = {
        pipeline: id,
        epoch,
        position,
        stages: lastPosition,
        model,
        holders: [...request.holders],
        plannedBytes: stage.bytes,
        followerMember: follower,
        ...shape,
      };
      const events = member.runStage(order, stop.signal);
      const progress = (loading: Omit<StageLoading, 'stage' | 'member'>): void =>
        onProgress({ stage: position, member: name, ...loading });
      return runStage({ member: member.member, name }, events, progress, (cause) =>
        lose(`The stage on ${name} was lost`, name, cause),
      );
    });
    const loaded = await Promise.all(running.map((stage) => stage.loaded));
    for (const [position, { name }] of stages.entries()) {
      callings.push(...callingsOf(name, loaded[position]?.address ?? ''));
    }
    onPhase('linking');
    let predecessor = { address: coordinator.address, member: coordinator.member };
    for (const [position, { member }] of stages.entries()) {
      const from = { predecessorAddress: await route(predecessor.address), predecessorMember: predecessor.member };
      await member.linkStage({ pipeline: id, epoch, position, ...from });
      predecessor = { address: loaded[position]?.address ?? '', member: member.member };
    }
    const link = await followRing({
      address: await route(predecessor.address),
      member: predecessor.member,
      tls: coordinator.tls,
      pipeline: id,
      epoch,
      position: lastPosition,
      signal: stop.signal,
    });
    const receiving = (async () => {
      for await (const frame of link) {
        life.cameBack(frame.step);
        pipeline.receive(frame, link.way.ms);
      }
    })();
    const last = stages.at(-1)?.name ?? first.name;
    receiving.catch((cause: unknown) => lose(`The last stage, on ${last}, was lost`, last, cause));
    onPhase('warming');
    await warm(pipeline, request, stop.signal);
    signal?.removeEventListener('abort', abort);
    return { pipeline, taken: loaded, ended, close: unload };
  } catch (cause) {
    await unload();
    if (signal?.aborted) throw signal.reason;
    if (cause instanceof PipelineError) throw cause;
    throw new PipelineError('FormFailed', messageOf(cause), { cause });
  }
}

interface RunningStage {
  loaded: Promise<StageLoaded>;
  /** Resolves when the call that keeps the stage has ended. */
  ended: Promise<void>;
}

/** Follows the life of one stage: `loaded` or its reason not to, then `onLost` when it ends before it is asked to. */
function runStage(
  place: { member: string; name: string },
  events: AsyncIterable<StageEvent>,
  onProgress: (loading: Omit<StageLoading, 'stage' | 'member'>) => void,
  onLost: (cause: unknown) => void,
): RunningStage {
  let resolveLoaded: (loaded: StageLoaded) => void = () => {};
  let rejectLoaded: (cause: Error) => void = () => {};
  const loaded = new Promise<StageLoaded>((resolve, reject) => {
    resolveLoaded = resolve;
    rejectLoaded = reject;
  });
  const fail = (cause: unknown): void => {
    const why = isBroken(cause) ? ' was lost while it loaded its layers.' : `: ${messageOf(cause)}`;
    rejectLoaded(new PipelineError('FormFailed', `${place.name}${why}`, { cause }));
    onLost(cause);
  };
  loaded.catch(() => {});
  const ended = (async () => {
    for await (const { progress, loaded: report, short } of events) {
      if (short) rejectLoaded(new StageTooLarge(place, short));
      if (progress) onProgress(loadingOf(progress));
      if (report) {
        onProgress({ phase: 'loaded', fraction: 1 });
        resolveLoaded(report);
      }
    }
    fail(new Error('the member has stopped it'));
  })().catch(fail);
  return { loaded, ended };
}

function loadingOf({ phase, fraction, doneBytes, totalBytes }: StageProgress): Omit<StageLoading, 'stage' | 'member'> {
  if (phase !== 'cutting' && phase !== 'fetching' && phase !== 'checking') return { phase: 'loading', fraction };
  return { phase, fraction, bytes: { done: doneBytes, total: totalBytes } };
}

/** Whether it is of no use to people how: the member at the other end does not answer any more. */
function isBroken(cause: unknown): boolean {
  return cause instanceof LinkLost || cause instanceof PeerUnreachable;
}

/** What the wire calls a member, and its name. */
interface Calling {
  calling: string;
  name: string;
}

function callingsOf(name: string, ...callings: string[]): Calling[] {
  return callings.filter((calling) => calling !== '').map((calling) => ({ calling, name }));
}

/** What went wrong on the wire, in the words of people. */
function byName(message: string, callings: readonly Calling[]): string {
  return callings.reduce((text, { calling, name }) => text.replaceAll(calling, name), message);
}

/** Readiness means that a token went round, and something came of it. */
async function warm(
  pipeline: Pipeline,
  { warmToken: token, textEmbedding }: Pick<FormRequest, 'warmToken' | 'textEmbedding'>,
  signal: AbortSignal,
): Promise<void> {
  if (textEmbedding !== null) {
    await pipeline.embed({ tokens: [token] }, signal);
    return;
  }
  for await (const _ of pipeline.generate({ promptTokens: [token], maxTokens: 1, sampling: greedySampling }, signal))
    return;
  throw new PipelineError('FormFailed', 'The warm-up token did not come back.');
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
