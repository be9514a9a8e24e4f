/** What the gateway sees of a model that serves: text in, tokens out, wherever its pipeline runs. */

/** How the last stage picks a token; native/src/sequenceSampler.h says in which order. */
export interface TokenSampling {
  /** 0 is greedy. */
  temperature: number;
  /** Keeps this many of the most probable tokens; 0 keeps all. */
  topK: number;
  /** Keeps the most probable tokens until their probabilities reach this; 1 keeps all. */
  topP: number;
  /** Drops tokens less probable than this share of the most probable one's probability; 0 keeps all. */
  minP: number;
  /** Divides the logit of a token that the prompt or the answer holds (multiplies a negative one); 1 is off. */
  repetitionPenalty: number;
  /** Taken from the logit of a token for each time that the answer holds it; 0 is off. */
  frequencyPenalty: number;
  /** Taken from the logit of a token that the answer holds; 0 is off. */
  presencePenalty: number;
  /** Added to the logits of tokens. */
  logitBias: readonly (readonly [token: number, bias: number])[];
  /** GBNF with a rule `root`; null takes any text. */
  grammar: string | null;
  /** Null gives no log probabilities; n gives them with the n most probable tokens of each place. */
  topLogprobs: number | null;
  /** A safe integer; the random number for a position comes from (seed, choice, position). */
  seed: number;
  choice: number;
}

export interface GenerateRequest {
  promptTokens: readonly number[];
  /** How many of the last of these are the answer already, for the grammar and the penalties; none where it is left out. */
  answered?: number;
  /** Most tokens to generate. */
  maxTokens: number;
  sampling: TokenSampling;
  /** Nobody reads along: others go first. */
  bulk?: boolean;
  /** Called once when it has a seat and waits for nothing, with the tokens of the prompt that need not be computed again. */
  onSeated?: (seated: { cachedTokens: number }) => void;
}

export interface EmbedRequest {
  tokens: readonly number[];
  /** Nobody waits for this one alone: others go first. */
  bulk?: boolean;
}

/** The bytes of every token of a vocabulary; control tokens are empty. */
export interface TokenPieces {
  bytes: Uint8Array;
  /** `size + 1` offsets into `bytes`. */
  offsets: Uint32Array;
}

export interface TokenLogprob {
  id: number;
  /** Natural logarithm of the softmax over the logits as the model gave them, before any sampling. */
  logprob: number;
}

export interface GeneratedToken {
  id: number;
  /** Null where none was asked for. */
  logprob: number | null;
  /** As many as were asked for, most probable first. */
  top: readonly TokenLogprob[];
}

export interface ServedModel {
  /** How many weights, and as what they are stored (`Q4_K_M`); null where nobody knows. */
  readonly parameters?: number | null;
  readonly quantisation?: string | null;
  /** Stable, never a path. */
  readonly id: string;
  /** What tells its file from others: the content id. */
  readonly contentId: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** What one pipeline of it takes on all its members together, as planned. */
  readonly bytes: number;
  /** Tokens that one request may take: prompt and answer. */
  readonly contextLength: number;
  /** `general.architecture` of the GGUF, empty where nobody knows. */
  readonly architecture: string;
  /** It turns texts into vectors and writes none. */
  readonly embedsOnly: boolean;
  /** `tokenizer.chat_template` of the GGUF, null where it has none. */
  readonly chatTemplate: string | null;
  /** The other template that the GGUF has for chats with tools (`tokenizer.chat_template.tool_use`); null where it has none. */
  readonly toolTemplate?: string | null;
  /** Text of the begin and end tokens, as chat templates want them; empty where the model has none. */
  readonly bosText: string;
  readonly eosText: string;
  readonly pieces: TokenPieces;
  /** Tokens that end a generation. */
  readonly endTokens: ReadonlySet<number>;
  /** The text of every control token by its id: what `parseSpecial` reads and `pieces` leaves empty. */
  readonly controlTokens: ReadonlyMap<number, string>;
  tokenize(text: string, options: { addSpecial: boolean; parseSpecial: boolean }): Promise<number[]>;
  /**
   * Yields committed tokens in order, ending after the first end token (which it yields) or `maxTokens`. Aborting the
   * signal, or leaving the loop, frees its slot for others within one step. Rejects with a `PipelineError`.
   */
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<GeneratedToken>;
  /**
   * What the model makes of a text, [n_embd]: of an embedding model what its own pooling gives, of any other the mean over
   * the text's tokens of the hidden states behind the output norm; of no particular length. Aborting frees its slot as in `generate`. Rejects with a `PipelineError`.
   */
  embed(request: EmbedRequest, signal: AbortSignal): Promise<Float32Array>;
}

/** The models that this member can reach. */
export interface ServedModels {
  list(): ServedModel[];
  find(id: string): ServedModel | undefined;
}
