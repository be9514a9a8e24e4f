/** What the gateway sees of a model that serves: text in, tokens out, wherever its pipeline runs. */

export interface TokenSampling {
  /** 0 is greedy. */
  temperature: number;
  topP: number;
  /** A safe integer; the random number for a position comes from (seed, choice, position). */
  seed: number;
  choice: number;
}

export interface GenerateRequest {
  promptTokens: readonly number[];
  /** Most tokens to generate. */
  maxTokens: number;
  sampling: TokenSampling;
}

/** The bytes of every token of a vocabulary; control tokens are empty. */
export interface TokenPieces {
  bytes: Uint8Array;
  /** `size + 1` offsets into `bytes`. */
  offsets: Uint32Array;
}

export interface ServedModel {
  /** Stable, never a path. */
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Tokens that one request may take: prompt and answer. */
  readonly contextLength: number;
  /** `tokenizer.chat_template` of the GGUF, null where it has none. */
  readonly chatTemplate: string | null;
  /** Text of the begin and end tokens, as chat templates want them; empty where the model has none. */
  readonly bosText: string;
  readonly eosText: string;
  readonly pieces: TokenPieces;
  /** Tokens that end a generation. */
  readonly endTokens: ReadonlySet<number>;
  tokenize(text: string, options: { addSpecial: boolean; parseSpecial: boolean }): Promise<number[]>;
  /**
   * Yields committed tokens in order, ending after the first end token (which it yields) or `maxTokens`. Aborting the
   * signal, or leaving the loop, frees the slot on every stage within one step. Rejects with a `PipelineError`.
   */
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<number>;
}

/** The models that this member can reach. */
export interface ServedModels {
  list(): ServedModel[];
  find(id: string): ServedModel | undefined;
}
