import type { ServedModel, TokenSampling } from '../pipeline/servedModel.ts';

/** What the request of every API becomes before it reaches a model. Each adapter makes one and words the answer. */
export interface TextRequest {
  model: ServedModel;
  /** Text as the model is to see it, special tokens in it as text; or its tokens. */
  prompt: string | readonly number[];
  /** Null for what is left of the context. */
  maxTokens: number | null;
  sampling: Omit<TokenSampling, 'seed' | 'choice'>;
  /** Null draws one. */
  seed: number | null;
  stop: readonly string[];
}

/** A request that its model can take. */
export interface AdmittedRequest {
  request: TextRequest;
  promptTokens: readonly number[];
  maxTokens: number;
  seed: number;
}

export interface TextUsage {
  promptTokens: number;
  /** Of those, the ones that were not computed again; null where nobody says. */
  cachedTokens: number | null;
  /** The end token counts. */
  completionTokens: number;
}

/** A token by its bytes, none for a control token, and the natural logarithm of its probability. */
export interface TextLogprob {
  bytes: Uint8Array;
  logprob: number;
}

/** A token of the answer, with the most probable tokens of its place. */
export interface TextToken extends TextLogprob {
  top: TextLogprob[];
}

/** What a generation yields: text in order, then one end. `tokens`, where asked for, are those that begin in the text. */
export type TextEvent =
  | { kind: 'text'; text: string; tokens: TextToken[] }
  | { kind: 'end'; reason: 'stop' | 'length'; usage: TextUsage };
