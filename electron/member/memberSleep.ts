import { isLive } from '../pipeline/numbers/pipelineReport.ts';
import { gathered } from '../pipeline/placement/gathered.ts';
import type { PoolPipeline } from '../pipeline/serving/modelRouter.ts';
import type { ModelServing } from '../pipeline/serving/modelServing.ts';
import type { ServeRequest } from '../pipeline/serving/serveEvents.ts';
import type { PoolMember } from '../pool/poolMember.ts';
import type { Changes } from './changes.ts';

export interface MemberSleepOptions {
  pool: Pick<PoolMember, 'session' | 'members' | 'coordinator' | 'sleep' | 'wake' | 'trust'>;
  models: Pick<ModelServing, 'pipelines' | 'stop' | 'serve'>;
  changes: Changes;
  /** Hears of what could not be ended or brought back. */
  onProblem: (cause: unknown) => void;
  /** How long to wait for the members of a model before it is served without them, ms. */
  patienceMs?: number;
}

/** What was stopped for the sleep, and who ran it. */
interface Rested {
  modelId: string;
  request: ServeRequest;
  members: string[];
}

/** Systems wait a few seconds at most before they sleep. */
const DRAIN_MS = 3_000;
const PATIENCE_MS = 60_000;

/**
 * Takes this member out of its pool before the machine sleeps, and back when it wakes. Models that need this machine and
 * others are stopped in good order and served again; what runs here alone just goes on.
 */
export class MemberSleep {
  readonly #options: MemberSleepOptions;
  #rested: Rested[] = [];
  #turn: Promise<void> = Promise.resolve();
  #waking = new AbortController();

  constructor(options: MemberSleepOptions) {
    this.#options = options;
  }

  /** Resolves when the others know. Never rejects. */
  sleep(): Promise<void> {
    this.#waking.abort();
    return this.#next(async () => {
      const { pool, models, onProblem } = this.#options;
      if (pool.session === null) return;
      const shared = models.pipelines().filter((pipeline) => isShared(pipeline, pool.trust.self.id));
      this.#rested = merged([...this.#rested, ...restedOf(shared)]);
      await Promise.all(
        [...new Set(shared.map(({ report }) => report.modelId))].map((id) =>
          models.stop(id, DRAIN_MS, { forget: false }).catch(onProblem),
        ),
      );
      await pool.sleep().catch(onProblem);
    });
  }

  /** Resolves when this member takes part again; the models follow in the background. Never rejects. */
  wake(): Promise<void> {
    return this.#next(async () => {
      const { pool, onProblem } = this.#options;
      this.#waking = new AbortController();
      await pool.wake().catch(onProblem);
      const { signal } = this.#waking;
      for (const rested of this.#rested) {
        this.#bringBack(rested, signal).catch((cause: unknown) => {
          if (!signal.aborted) onProblem(cause);
        });
      }
    });
  }

  /** Brings nothing back any more. */
  close(): void {
    this.#waking.abort();
  }

  #next(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work);
    return this.#turn;
  }

  async #bringBack(rested: Rested, signal: AbortSignal): Promise<void> {
    const { models, pool, changes, patienceMs = PATIENCE_MS } = this.#options;
    const room = {
      members: () => pool.members(),
      leader: () => pool.coordinator(),
      onChange: (listener: () => void) => changes.on(listener),
    };
    const areHere = await gathered(room, rested.members, { patienceMs, signal });
    signal.throwIfAborted();
    // Somebody may have served it meanwhile.
    const serves = models.pipelines().some(({ report }) => report.modelId === rested.modelId && isLive(report));
    try {
      // Over several members as before, where they are there; otherwise as it can be served.
      const { force, ...request } = rested.request;
      if (!serves) await models.serve({ ...request, ...(areHere && { force }) }, () => {}, signal);
    } finally {
      // One that another sleep takes back is brought back after that one.
      if (!signal.aborted) this.#rested = this.#rested.filter(({ modelId }) => modelId !== rested.modelId);
    }
  }
}

/** Whether a pipeline that serves needs this member and another one. */
function isShared({ report, driver }: PoolPipeline, self: string): boolean {
  const members = new Set([driver.id, ...report.stages.map(({ member }) => member)]);
  return report.state === 'serving' && members.has(self) && members.size > 1;
}

function restedOf(pipelines: readonly PoolPipeline[]): Rested[] {
  return pipelines.map(({ report, driver }) => {
    const { modelId, model, contextLength, slots, aliases, stages } = report;
    const force = new Set(stages.map(({ member }) => member)).size > 1 ? 'cluster' : undefined;
    return {
      modelId,
      request: { model: model === '' ? modelId : model, contextLength, slots, aliases, force },
      members: [...new Set([driver.id, ...stages.map(({ member }) => member)])],
    };
  });
}

/** One for each model: its pipelines become as many replicas. */
function merged(all: readonly Rested[]): Rested[] {
  const byModel = new Map<string, Rested>();
  for (const one of all) {
    const before = byModel.get(one.modelId);
    byModel.set(
      one.modelId,
      before === undefined
        ? one
        : {
            ...one,
            request: { ...one.request, replicas: (before.request.replicas ?? 1) + 1 },
            members: [...new Set([...before.members, ...one.members])],
          },
    );
  }
  return [...byModel.values()];
}
