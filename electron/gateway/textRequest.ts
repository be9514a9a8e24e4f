import type { GenerateRequest, ServedModel, TokenSampling } from '../pipeline/serving/servedModel.ts';
import type { PromptPiece } from './template/plainText.ts';
import type { ThinkingMarks } from './template/templateTraits.ts';
import type { CallPlan } from './tools/callPlan.ts';

/** How the text of an answer is to be read. */
export interface AnswerShape {
  /** Null for a model that does not think aloud. `begun`: the prompt has opened the thinking already. */
  thinking: (ThinkingMarks & { begun: boolean }) | null;
  /** Null where no call is looked for. */
  calls: CallPlan | null;
}

/** An answer that is text and nothing else. */
export const plainShape: AnswerShape = { thinking: null, calls: null };

/** What the request of every API becomes before it reaches a model. Each adapter makes one and words the answer. */
export interface TextRequest {
  model: ServedModel;
  /** Text as the model is to see it, special tokens in it as text; the same in pieces, some of them plain; or its tokens. */
  prompt: string | readonly PromptPiece[] | readonly number[];
  shape: AnswerShape;
  /** Null for what is left of the context. */
  maxTokens: number | null;
  sampling: Omit<TokenSampling, 'seed' | 'choice'>;
  /** Null draws one. */
  seed: number | null;
  stop: readonly string[];
  /** Nobody reads along: others go first. */
  bulk: NonNullable<GenerateRequest['bulk']>;
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
  /** Of those, the ones of thinking. */
  reasoningTokens: number;
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

export type TextEndReason = 'stop' | 'length' | 'tool_calls';

/** What a generation yields: thinking, text and calls in order, then one end. `tokens`, where asked for, are those that begin in the text. */
export type TextEvent =
  | { kind: 'reasoning'; text: string }
  | { kind: 'text'; text: string; tokens: TextToken[] }
  | { kind: 'call'; index: number; id: string; name: string }
  | { kind: 'arguments'; index: number; text: string }
  | { kind: 'end'; reason: TextEndReason; usage: TextUsage };
