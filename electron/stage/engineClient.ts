import { engineContract } from './engineContract.ts';
import type { HostError } from './hostError.ts';
import type { HostLauncher } from './hostLauncher.ts';
import { HostProcess } from './hostProcess.ts';
import type { NativeDevice } from './nativeAddon.ts';

const BOOT_MS = 30_000;
const DEVICES_MS = 10_000;
const OPEN_MS = 60_000;
const TOKENIZE_MS = 10_000;

/** The tokenizer of one model. What never changes lies here; only tokenizing asks the engine host. */
export interface Vocabulary {
  readonly size: number;
  readonly bosToken: number;
  readonly eosToken: number;
  readonly addsBos: boolean;
  /** Tokens that end a generation. */
  readonly endTokens: ReadonlySet<number>;
  /** The bytes that a token stands for; none for control tokens. */
  piece(token: number): Uint8Array;
  /** `parseSpecial` reads `<|im_start|>` and the like as tokens. */
  tokenize(text: string, options: { addSpecial: boolean; parseSpecial: boolean }): Promise<Int32Array>;
  close(): Promise<void>;
}

/** The engine host as its member sees it: device probe and tokenizers. */
export class EngineClient {
  readonly #process: HostProcess<typeof engineContract>;

  private constructor(launcher: HostLauncher, onLost: (error: HostError) => void) {
    this.#process = new HostProcess({ contract: engineContract, host: 'engine', launcher, onLost, onEvent: {} });
  }

  /** Starts the process. Rejects with a HostError, and then nothing is left running. */
  static async start(launcher: HostLauncher, onLost: (error: HostError) => void): Promise<EngineClient> {
    const client = new EngineClient(launcher, onLost);
    try {
      await client.#process.call('boot', { parentPid: process.pid }, BOOT_MS);
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  devices(): Promise<NativeDevice[]> {
    return this.#process.call('devices', null, DEVICES_MS);
  }

  /** Opens the tokenizer of a GGUF; one without tensors will do. */
  async openVocabulary(path: string): Promise<Vocabulary> {
    const opened = await this.#process.call('openVocabulary', { path }, OPEN_MS);
    const { handle, size, bosToken, eosToken, addsBos, endTokens, pieces } = opened;
    return {
      size,
      bosToken,
      eosToken,
      addsBos,
      endTokens: new Set(endTokens),
      piece: (token) => pieces.bytes.subarray(pieces.offsets[token] ?? 0, pieces.offsets[token + 1] ?? 0),
      tokenize: (text, options) => this.#process.call('tokenize', { handle, text, ...options }, TOKENIZE_MS),
      close: async () => {
        await this.#process.call('closeVocabulary', { handle }, TOKENIZE_MS);
      },
    };
  }

  close(): Promise<void> {
    return this.#process.close();
  }
}
