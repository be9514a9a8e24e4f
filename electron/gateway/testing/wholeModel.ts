import { getLlama, type Llama, type Token } from 'node-llama-cpp';
import type { GenerateRequest, ServedModel, ServedModels, TokenPieces } from '../../pipeline/servedModel.ts';

export interface WholeModel extends ServedModel {
  /** Generations that hold a slot now. */
  readonly running: () => number;
  dispose(): Promise<void>;
}

/** Serves a whole GGUF in this process with node-llama-cpp, one thread; for byte-level BPE vocabularies. */
export async function wholeModel(
  path: string,
  options: { id: string; contextLength: number; slots: number },
): Promise<WholeModel> {
  const llama: Llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1 });
  const model = await llama.loadModel({ modelPath: path, gpuLayers: 0 });
  const context = await model.createContext({
    contextSize: options.contextLength,
    sequences: options.slots,
    threads: 1,
    batchSize: 64,
  });
  const { tokenizer } = model.fileInfo.metadata;
  const tokens = tokenizer.ggml.tokens;
  const controlTypes = tokenizer.ggml.token_type ?? [];
  const pieces = bytePieces(tokens, (id) => controlTypes[id] === 3);
  const endTokens = new Set<number>();
  for (let id = 0; id < tokens.length; id += 1) if (model.isEogToken(asToken(id))) endTokens.add(id);
  let running = 0;

  async function* generate({ promptTokens, maxTokens, sampling }: GenerateRequest, signal: AbortSignal) {
    signal.throwIfAborted();
    const sequence = context.getSequence();
    running += 1;
    const leave = (): void => {
      if (sequence.disposed) return;
      running -= 1;
      void sequence.dispose();
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      const { temperature, topP, seed } = sampling;
      const evaluation = sequence.evaluate(promptTokens.map(asToken), {
        temperature,
        topP,
        topK: 0,
        seed: seed % 2 ** 32,
        yieldEogToken: true,
      });
      let count = 0;
      for await (const token of evaluation) {
        yield { id: token, logprob: null, top: [] };
        count += 1;
        if (count === maxTokens || endTokens.has(token)) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
      leave();
    }
  }

  return {
    id: options.id,
    createdAt: 1_700_000_000,
    contextLength: options.contextLength,
    chatTemplate: tokenizer.chat_template ?? null,
    bosText: model.tokens.bosString ?? '',
    eosText: model.tokens.eosString ?? '',
    pieces,
    endTokens,
    tokenize: async (text, { addSpecial, parseSpecial }) => {
      const ids: number[] = model.tokenize(text, parseSpecial);
      const { bos, shouldPrependBosToken } = model.tokens;
      return addSpecial && shouldPrependBosToken && bos !== null ? [bos, ...ids] : ids;
    },
    generate,
    running: () => running,
    dispose: () => llama.dispose(),
  };
}

/** The models of a member that serves exactly these. */
export function servedModels(...models: ServedModel[]): ServedModels {
  return { list: () => models, find: (id) => models.find((model) => model.id === id) };
}

function asToken(id: number): Token {
  return id as Token;
}

/** Byte-level BPE writes each byte as one character: printable ones as themselves, the others from U+0100 on. */
function bytePieces(tokens: readonly string[], isControl: (id: number) => boolean): TokenPieces {
  const byteOf = new Map<string, number>();
  let shifted = 0x100;
  for (let byte = 0; byte < 256; byte += 1) {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    byteOf.set(String.fromCharCode(printable ? byte : shifted), byte);
    if (!printable) shifted += 1;
  }
  const bytes: number[] = [];
  const offsets = [0];
  tokens.forEach((token, id) => {
    if (!isControl(id)) {
      for (const character of token) {
        const byte = byteOf.get(character);
        if (byte === undefined) throw new Error(`Token ${id} is not byte-level: ${token}`);
        bytes.push(byte);
      }
    }
    offsets.push(bytes.length);
  });
  return { bytes: Uint8Array.from(bytes), offsets: Uint32Array.from(offsets) };
}
