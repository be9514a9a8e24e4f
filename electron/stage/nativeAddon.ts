import type { EmbeddingTable } from '../gguf/embeddingTable.ts';

/** The typed surface of native/: what the C++ addon exports. Only this folder loads it. */

/** A device as the ggml backends report it; bytes. */
export interface NativeDevice {
  name: string;
  description: string;
  backend: string;
  /** Lower-case PCI address such as `0000:c1:00.0`; null where the backend knows none. */
  pciAddress: string | null;
  kind: 'cpu' | 'gpu' | 'integrated' | 'accelerator';
  totalBytes: number;
  freeBytes: number;
}

/** An embedder is a whole model that gives a vector for each text and no tokens. */
export type StageRole = 'whole' | 'first' | 'middle' | 'last' | 'embedder';

export type RunEmbed = 'sum' | 'last' | 'pooled';

/**
 * Flash attention is off on the CPU (a slot's result would otherwise depend on its neighbours), on with a q8_0 cache,
 * which needs it, and llama.cpp's own choice on a device; whatever is compared with a stage must run with the same.
 */
export interface NativeLoadOptions {
  path: string;
  role: StageRole;
  /** Layers in this file; a stage that is not the last takes its output from `l_out-<layers - 1>`. */
  layers: number;
  embedding: EmbeddingTable | null;
  /** GGUF with the tokenizer of a last stage, for grammars; null refuses them there. Whole models hold their own. */
  vocabulary: string | null;
  /**
   * Tokens over all slots together, at most 2^24; every slot has an equal part for itself, which llama.cpp rounds up to
   * a multiple of 256. The same on all stages of a pipeline.
   */
  contextLength: number;
  /** At most 256. */
  slots: number;
  /** Most tokens in one step (n_batch and n_ubatch), no more than the context; of an embedder the longest text. */
  batch: number;
  threads: number;
  /** Layers to offload; `layers` or more takes the head along, 0 keeps everything on the CPU. */
  gpuLayers: number;
  /** Name of the device to use, null for the backend's own choice. */
  device: string | null;
  kvType: 'f16' | 'q8_0';
  /** Rows of one run whose logits may be asked for, drafts + 1; a stage gives no fewer than it has slots. */
  maxOutputs: number;
}

export interface NativeSampling {
  /** 0 is greedy. */
  temperature: number;
  /** 0 keeps all. */
  topK: number;
  topP: number;
  minP: number;
  /** Over prompt and answer; 1 is off. */
  repetitionPenalty: number;
  /** Over the answer; 0 is off. */
  frequencyPenalty: number;
  presencePenalty: number;
  logitBias: { tokens: Int32Array; biases: Float32Array } | null;
  /** GBNF with a rule `root`, for the answer. */
  grammar: string | null;
  /** Tokens of the slot that are the prompt; those after them are the answer. */
  promptLength: number;
  /** Null for no log probabilities, else with how many of the most probable tokens. */
  topLogprobs: number | null;
  /** Unsigned 64 bits. */
  seed: bigint;
  choice: number;
}

/** Tokens of one slot that follow what it holds; a step has at most one run per slot. */
export interface NativeRun {
  slot: number;
  /** Position of the first token. */
  start: number;
  /**
   * Token ids; the first stage and a whole model compute from them, the last stage keeps them for penalties, grammars and
   * drafts. May be empty, to truncate alone.
   */
  tokens: Int32Array;
  /** KV at and beyond this position is removed first; null keeps it. */
  truncateTo: number | null;
  /** Set when the token after the last one is to be sampled; only on the last stage or a whole model. */
  sampling: NativeSampling | null;
  /**
   * How many of the last tokens are drafts. The stage that samples takes them as long as each is the token that it samples
   * for that place, gives every token that it sampled, and removes the KV of the rest. A run of drafts alone follows on one
   * whose outcome is not known yet: it is left out where its first token is not the one that was sampled. 0 where it is
   * left out.
   */
  drafts?: number;
  /**
   * How many of the last rows are computed each by itself, also where other runs could share their batch; 0 where it is left out,
   * else all that are sampled. Together they take little longer than one, but some kernels (of attention and of many types of
   * weights on a CPU, most on a GPU) round them differently; see roundsInCompany.
   */
  aloneRows?: number;
  /**
   * In place of tokens: rows behind what the slot holds that only fill the blocks of a kernel up, are given to nobody and removed at once.
   * Those that find no room in the context or in the batch are left out. 0 where it is left out.
   */
  padRows?: number;
  /**
   * What the last stage gives in place of a token; the other stages compute the run as any. `sum` is that of the rows of
   * the run, `last` its last row, both of their hidden states behind the output norm. `pooled` is what an embedder makes of
   * a text: the run holds all of it, and nothing of it is kept. Null gives nothing. Not together with `sampling`.
   */
  embed?: RunEmbed | null;
}

export type ActivationFormat = 'f16' | 'f32';

/** The memory of `input` and `output` is used until the promise settles: neither transfer nor change it before. */
export interface NativeStep {
  runs: NativeRun[];
  /** Rows of all runs in order, [n_tokens, n_embd]; null on the first stage and for a whole model. */
  input: { format: ActivationFormat; bytes: Uint8Array } | null;
  /** Buffer that the addon fills, at least n_tokens x n_embd x 4 bytes; null on the last stage and for a whole model. */
  output: Uint8Array | null;
  /** Wanted format of the output; 'f16' falls back to 'f32' for a step whose values fp16 cannot hold. */
  outputFormat: ActivationFormat;
}

export interface NativeSampledToken {
  slot: number;
  /** Where the token will stand. */
  position: number;
  token: number;
  /** Log softmax of the raw logits; null where none was asked for. */
  logprob: number | null;
  top: { token: number; logprob: number }[];
}

export interface NativeStepResult {
  /** Format and number of the bytes written to `output`. */
  format: ActivationFormat | null;
  byteLength: number;
  /** Of every run with `sampling`, in their order: one more than the drafts that were accepted. */
  sampled: NativeSampledToken[];
  /** Slots of which no further token could be sampled, and why: a grammar that leaves none, or logits that are no numbers. */
  failures: { slot: number; message: string }[];
  /** Of every run with `embed`: [n_embd] in f32. */
  hidden: { slot: number; values: Float32Array }[];
  /** Runs that were left out because the drafts before them had been rejected. */
  dropped: number;
  /** Milliseconds on the stage's thread, conversions and sampling included. */
  computeMs: number;
}

/** Bytes as the backends report them after load, over all devices, each buffer rounded to 0.01 MiB by llama.cpp. */
export interface NativeMemory {
  weightBytes: number;
  kvBytes: number;
  computeBytes: number;
}

export interface NativeStage {
  readonly embeddingLength: number;
  readonly vocabularySize: number;
  /**
   * Queued on the stage's own thread; steps run in the order of the calls. After a rejection its slots hold what they
   * held before the step, truncations aside (none where it was BadArgument).
   */
  decode(step: NativeStep): Promise<NativeStepResult>;
  /** Frees the KV of a slot. */
  closeSlot(slot: number): Promise<void>;
  /** Removes the KV of a slot at and beyond `position`. */
  truncate(slot: number, position: number): Promise<void>;
  /** Copies the KV of positions [0, length) from one slot to another, in place of all that it held; takes its turn among steps. */
  copyPrefix(fromSlot: number, toSlot: number, length: number): Promise<void>;
  /** Makes the running and all queued steps reject with code 'Cancelled'. The stage stays usable. */
  cancel(): void;
  memory(): NativeMemory;
  /** Frees everything once the queue is empty. Later calls reject with code 'Unloaded'. */
  unload(): Promise<void>;
}

/** Tokenizer of a model without its weights. */
export interface NativeVocabulary {
  readonly size: number;
  readonly bosToken: number;
  readonly eosToken: number;
  /** As the vocabulary spells them, for chat templates; empty where the model has none. */
  readonly bosText: string;
  readonly eosText: string;
  readonly addsBos: boolean;
  /** `parseSpecial` reads `<|im_start|>` and the like as tokens. */
  tokenize(text: string, options: { addSpecial: boolean; parseSpecial: boolean }): Int32Array;
  /** Why a GBNF grammar cannot be used, null where it can. */
  grammarProblem(grammar: string): string | null;
  /** The bytes of every token, concatenated, with `size + 1` offsets; control tokens are empty. */
  pieces(): { bytes: Uint8Array; offsets: Uint32Array };
  /** Tokens that end a generation. */
  endTokens(): Int32Array;
  /** Tokens that are read only with `parseSpecial`, each as the vocabulary spells it. */
  controlTokens(): { id: number; text: string }[];
  free(): void;
}

/**
 * The addon's exports. Errors are `Error` with a `code` ('LoadFailed', 'DecodeFailed', 'Cancelled', 'Unloaded',
 * 'BadArgument', 'LibraryMissing') and, where llama.cpp logged the cause, that line in the message.
 */
export interface NativeAddon {
  /**
   * Opens libllama and the ggml backends of one folder, once per process: again with the same folder it does nothing,
   * with another it throws BadArgument. The backends of `fallbackFolder` are loaded when those of the first find no
   * device beside the CPU.
   */
  open(librariesFolder: string, fallbackFolder?: string | null): void;
  devices(): NativeDevice[];
  /**
   * Bytes per second at which a device reads Q4_0 weights to multiply them with one vector, as decoding does: the fastest
   * of several passes over more memory than caches hold. Takes about `budgetMs` on a thread of its own, and up to 504 MiB
   * of the device's memory, freed again. `threads` count on the CPU only.
   */
  readSpeed(options: { device: string; threads: number; budgetMs: number }): Promise<number>;
  loadStage(
    options: NativeLoadOptions,
    onProgress: (fraction: number) => void,
    signal?: AbortSignal,
  ): Promise<NativeStage>;
  loadVocabulary(path: string): Promise<NativeVocabulary>;
  /** Ends this process as soon as process `parentPid` is gone, even while the event loop is blocked. */
  exitWithParent(parentPid: number): void;
}
