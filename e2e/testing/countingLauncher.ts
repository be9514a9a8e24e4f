import type { HostChild, HostLauncher, HostListeners, HostName } from '../../electron/stage/hostLauncher.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { stageContract } from '../../electron/stage/stageContract.ts';

/** Far above the ids that a member gives its own requests. */
const FIRST_ID = 1_000_000_000;

/** Starts real hosts and asks the stage host among them, behind its member's back, how many steps it has computed. */
export class CountingLauncher implements HostLauncher {
  #stage: HostChild | null = null;
  readonly #asked = new Map<number, (steps: number) => void>();

  launch(host: HostName, listeners: HostListeners): HostChild {
    const onMessage = (message: unknown): void => {
      if (!this.#isAnswer(message)) listeners.onMessage(message);
    };
    const child = nodeLauncher.launch(host, { ...listeners, onMessage });
    if (host === 'stage') this.#stage = child;
    return child;
  }

  /** Steps that the stage started last has computed, those without tokens included. */
  steps(): Promise<number> {
    const id = FIRST_ID + this.#asked.size;
    return new Promise((resolve) => {
      this.#asked.set(id, resolve);
      this.#stage?.send({ id, method: 'stats', params: null });
    });
  }

  #isAnswer(message: unknown): boolean {
    if (typeof message !== 'object' || message === null || !('id' in message) || !('result' in message)) return false;
    const resolve = this.#asked.get(Number(message.id));
    resolve?.(stageContract.methods.stats.result.parse(message.result).steps);
    return resolve !== undefined;
  }
}
