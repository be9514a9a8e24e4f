import type { HostError } from './hostError.ts';
import type { HostLauncher } from './hostLauncher.ts';
import { bootHost, type HostProcess } from './hostProcess.ts';
import type { Backend } from './librariesFolder.ts';
import type { NativeLoadOptions, NativeMemory } from './nativeAddon.ts';
import {
  type LoadedStage,
  type StagePredecessor,
  type StageRing,
  type StageStats,
  stageContract,
} from './stageContract.ts';

/** Without progress; llama.cpp reports none while it reserves its buffers. */
const LOAD_IDLE_MS = 120_000;
const LINK_MS = 10_000;
const ASK_MS = 5000;

export interface StageEvents {
  /** 0 to 1, while the stage loads. */
  onProgress?: (fraction: number) => void;
  /** The link from the process before this stage, or to the one after it, broke. The pipeline is over. */
  onLinkLost: (side: 'upstream' | 'downstream', message: string) => void;
  /** Frames have come from the process before this stage since the last call; at most five times a second. */
  onFrames?: () => void;
  /** The coordinator has ended the pipeline. */
  onEnded?: () => void;
  /** The stage host crashed; every call that waited has been rejected with the same error. */
  onLost: (error: HostError) => void;
}

/** A stage host as its member sees it: from `start` to `close` one stage of one pipeline. */
export class StageClient {
  /** The variant of llama.cpp that it runs. */
  readonly backend: Backend;
  readonly #host: HostProcess<typeof stageContract>;

  private constructor(host: HostProcess<typeof stageContract>, backend: Backend) {
    this.#host = host;
    this.backend = backend;
  }

  /** Starts the process and lets it load the addon. Rejects with a HostError, and then nothing is left running. */
  static async start(launcher: HostLauncher, events: StageEvents): Promise<StageClient> {
    const { host, backend } = await bootHost({
      contract: stageContract,
      host: 'stage',
      launcher,
      onLost: events.onLost,
      onEvent: {
        progress: (fraction) => {
          host.extend('load');
          events.onProgress?.(fraction);
        },
        linkLost: ({ side, message }) => events.onLinkLost(side, message),
        frames: () => events.onFrames?.(),
        ended: () => events.onEnded?.(),
      },
    });
    return new StageClient(host, backend);
  }

  get pid(): number | undefined {
    return this.#host.pid;
  }

  /** Loads the stage file and listens for the follower. HostRefused carries the addon's code and llama.cpp's line. */
  load(stage: NativeLoadOptions, ring: StageRing): Promise<LoadedStage> {
    return this.#host.call('load', { stage, ring }, LOAD_IDLE_MS);
  }

  /** Follows the process before this stage; resolves when the link is up. HostRefused names the WireError. */
  async link(predecessor: StagePredecessor): Promise<void> {
    await this.#host.call('link', predecessor, LINK_MS);
  }

  memory(): Promise<NativeMemory> {
    return this.#host.call('memory', null, ASK_MS);
  }

  stats(): Promise<StageStats> {
    return this.#host.call('stats', null, ASK_MS);
  }

  /** Says goodbye to the neighbours, frees everything and ends the process; resolves when it is gone. */
  close(): Promise<void> {
    return this.#host.close();
  }
}
