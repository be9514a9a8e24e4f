import { setTimeout as sleep } from 'node:timers/promises';
import { isLive } from '../pipeline/numbers/pipelineReport.ts';
import { gathered } from '../pipeline/placement/gathered.ts';
import type { ServingRoom } from '../pipeline/placement/servingRoom.ts';
import type { KeptServe, KeptServes } from '../pipeline/serving/keptServes.ts';
import type { ModelServing } from '../pipeline/serving/modelServing.ts';

export interface BringBackOptions {
  kept: Pick<KeptServes, 'list'>;
  models: Pick<ModelServing, 'pipelines' | 'serve' | 'learnServes'>;
  room: ServingRoom;
  /** Hears of what could not be served again. */
  onProblem: (cause: unknown) => void;
  /** How long to wait for the members of a model before it is served without them, ms. */
  patienceMs?: number;
}

const PATIENCE_MS = 60_000;
/** After a restart of a whole pool not everybody knows at once who is there. */
const MOST_ATTEMPTS = 5;
const RETRY_MS = 2000;

/**
 * After a restart of this member serves again what it was asked to serve, or took part in, and nobody has stopped. Whoever else
 * took part may try the same at the same time; the leader takes the first and refuses the rest.
 */
export class BringBack {
  readonly #options: BringBackOptions;
  readonly #closing = new AbortController();

  constructor(options: BringBackOptions) {
    this.#options = options;
  }

  /** The models follow in the background. */
  begin(): void {
    const { kept, onProblem } = this.#options;
    for (const serve of kept.list()) {
      this.#serve(serve).catch((cause: unknown) => {
        if (!this.#closing.signal.aborted) onProblem(cause);
      });
    }
  }

  /** Brings nothing back any more. */
  close(): void {
    this.#closing.abort();
  }

  async #serve(kept: KeptServe): Promise<void> {
    const { room, models, patienceMs = PATIENCE_MS } = this.#options;
    const { signal } = this.#closing;
    const isWanted = (): boolean => {
      const serves = models.pipelines().some(({ report }) => report.modelId === kept.modelId && isLive(report));
      // Somebody may have stopped or served it meanwhile.
      return !signal.aborted && !serves && this.#options.kept.list().some(({ id }) => id === kept.id);
    };
    await gathered(room, kept.members, { patienceMs, signal });
    // While this member was away it may have been stopped.
    await models.learnServes();
    for (let attempt = 1; isWanted(); attempt += 1) {
      try {
        await models.serve(kept.request, () => {}, signal);
        return;
      } catch (cause) {
        if (!isWanted()) return;
        if (attempt === MOST_ATTEMPTS) throw cause;
      }
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}
