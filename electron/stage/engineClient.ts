import { Sampling } from '../wire/generated/roomful/v1/ring.ts';
import { engineContract } from './engineContract.ts';
import type { HostError } from './hostError.ts';
import type { HostLauncher } from './hostLauncher.ts';
import { bootHost, type HostProcess } from './hostProcess.ts';
import type { Backend } from './librariesFolder.ts';
import type { NativeDevice } from './nativeAddon.ts';

const DEVICES_MS = 10_000;
const READ_SPEED_MS = 60_000;
const OPEN_MS = 60_000;
const TOKENIZE_MS = 10_000;
const DRAFT_MS = 60_000;
/** Without progress; llama.cpp reports none while it reserves its buffers. */
const OPEN_DRAFT_IDLE_MS = 120_000;

/** A device as a ggml backend reports it; bytes. */
export type Device = NativeDevice;

/** The tokenizer of one model. What never changes lies here; only tokenizing asks the engine host. */
export interface Vocabulary {
  readonly size: number;
  readonly bosToken: number;
  readonly eosToken: number;
  /** As the vocabulary spells them; empty where the model has none. */
  readonly bosText: string;
  readonly eosText: string;
  readonly addsBos: boolean;
  /** Tokens that end a generation. */
  readonly endTokens: ReadonlySet<number>;
  /** The text of every token that is read only with `parseSpecial`, by its id. */
  readonly controlTokens: ReadonlyMap<number, string>;
  /** The bytes of every token, concatenated, with `size + 1` offsets; control tokens are empty. */
  readonly pieces: { bytes: Uint8Array; offsets: Uint32Array };
  /** `parseSpecial` reads `<|im_start|>` and the like as tokens. */
  tokenize(text: string, options: { addSpecial: boolean; parseSpecial: boolean }): Promise<Int32Array>;
  /** Why a GBNF grammar cannot be used with this model, null where it can. */
  grammarProblem(grammar: string): Promise<string | null>;
  close(): Promise<void>;
}

/** How a draft model is loaded: whole, in the engine host. */
export interface DraftModelOptions {
  path: string;
  layers: number;
  /** Tokens over all slots. */
  contextLength: number;
  slots: number;
  /** Most tokens in one step. */
  batch: number;
  threads: number;
  gpuLayers: number;
}

/** A small model that guesses what a larger one will say. */
export interface DraftModel {
  /** See `draftTokens`; with a count of 0 the tokens are only read. Rejects where the slot does not hold `start` tokens. */
  draft(request: {
    slot: number;
    start: number;
    tokens: Int32Array;
    count: number;
    sampling: Sampling;
  }): Promise<Int32Array>;
  close(): Promise<void>;
}

/** The engine host as its member sees it: device probe and tokenizers. */
export class EngineClient {
  /** The variant of llama.cpp that it runs. */
  readonly backend: Backend;
  readonly #host: HostProcess<typeof engineContract>;
  #nextDraft = 0;

  private constructor(host: HostProcess<typeof engineContract>, backend: Backend) {
    this.#host = host;
    this.backend = backend;
  }

  /** Starts the process. Rejects with a HostError, and then nothing is left running. */
  static async start(launcher: HostLauncher, onLost: (error: HostError) => void): Promise<EngineClient> {
    const { host, backend } = await bootHost({
      contract: engineContract,
      host: 'engine',
      launcher,
      onLost,
      onEvent: { draftProgress: () => host.extend('openDraft') },
    });
    return new EngineClient(host, backend);
  }

  get pid(): number | undefined {
    return this.#host.pid;
  }

  devices(): Promise<Device[]> {
    return this.#host.call('devices', null, DEVICES_MS);
  }

  /**
   * Measures the bytes per second at which a device reads weights; see NativeAddon.readSpeed. The memory that a driver
   * keeps for a process that has computed stays taken, so this is for a host that is closed afterwards.
   */
  readSpeed(device: string, options: { threads: number; budgetMs: number }): Promise<number> {
    return this.#host.call('readSpeed', { device, ...options }, READ_SPEED_MS);
  }

  /** Opens the tokenizer of a GGUF; one without tensors will do. */
  async openVocabulary(path: string): Promise<Vocabulary> {
    const opened = await this.#host.call('openVocabulary', { path }, OPEN_MS);
    const { handle, endTokens, controlTokens, ...constant } = opened;
    return {
      ...constant,
      endTokens: new Set(endTokens),
      controlTokens: new Map(controlTokens.map(({ id, text }) => [id, text])),
      tokenize: (text, options) => this.#host.call('tokenize', { handle, text, ...options }, TOKENIZE_MS),
      grammarProblem: (grammar) => this.#host.call('grammarProblem', { handle, grammar }, TOKENIZE_MS),
      close: async () => {
        await this.#host.call('closeVocabulary', { handle }, TOKENIZE_MS);
      },
    };
  }

  /** Loads a draft model. Rejects with a HostError, and then leaves nothing loaded. */
  async openDraft(options: DraftModelOptions): Promise<DraftModel> {
    const handle = this.#nextDraft;
    this.#nextDraft += 1;
    try {
      await this.#host.call('openDraft', { handle, ...options }, OPEN_DRAFT_IDLE_MS);
    } catch (error) {
      // One that was only too slow may have it by and by; one that is gone has nothing.
      this.#host.call('closeDraft', { handle }, OPEN_DRAFT_IDLE_MS).catch(() => {});
      throw error;
    }
    return {
      draft: ({ sampling, ...request }) =>
        this.#host.call('draft', { handle, ...request, sampling: Sampling.encode(sampling).finish() }, DRAFT_MS),
      close: async () => {
        await this.#host.call('closeDraft', { handle }, OPEN_MS);
      },
    };
  }

  close(): Promise<void> {
    return this.#host.close();
  }
}
