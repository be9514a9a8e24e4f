import { randomInt } from 'node:crypto';
import type { ServedModel } from '../pipeline/serving/servedModel.ts';
import { invalidField } from './gatewayError.ts';
import { promptTokens as tokensOf } from './promptTokens.ts';
import type { PromptPiece } from './template/plainText.ts';
import type { AdmittedRequest, TextRequest } from './textRequest.ts';

/**
 * Tokenizes a request and settles what it left open: its seed, and a length that fits the context. More tokens than
 * fit are not refused: the answer ends with `length` where the context does.
 *
 * @throws GatewayError 400 `context_length_exceeded` when the prompt leaves no room for one token.
 */
export async function admitRequest(request: TextRequest, promptParam: string): Promise<AdmittedRequest> {
  const { model, prompt } = request;
  const promptTokens = await promptTokensOf(prompt, model, { param: promptParam, parseSpecial: true, answer: 1 });
  const room = model.contextLength - promptTokens.length;
  return {
    request,
    promptTokens,
    maxTokens: Math.min(request.maxTokens ?? room, room),
    seed: request.seed ?? randomInt(2 ** 48 - 1),
  };
}

/**
 * The tokens of a prompt, which may be given as tokens.
 *
 * @throws GatewayError 400 that blames `param`; `context_length_exceeded` where they leave no room for `answer` tokens.
 */
export async function promptTokensOf(
  prompt: TextRequest['prompt'],
  model: ServedModel,
  { param, parseSpecial, answer }: { param: string; parseSpecial: boolean; answer: number },
): Promise<readonly number[]> {
  const pieces = typeof prompt === 'string' ? [{ text: prompt, plain: !parseSpecial }] : prompt;
  const room = model.contextLength - answer;
  const { tokens: promptTokens, whole } = isPieces(pieces)
    ? await tokensOf(pieces, model, room)
    : { tokens: pieces, whole: true };
  const size = model.pieces.offsets.length - 1;
  const unknown = promptTokens.find((token) => token >= size);
  if (unknown !== undefined) {
    throw invalidField(param, `${param} holds token ${unknown}, but ${model.id} has ${size} tokens.`);
  }
  if (promptTokens.length === 0) throw invalidField(param, 'The prompt is empty.');
  if (promptTokens.length > room) {
    const message =
      `The prompt is ${whole ? '' : 'at least '}${promptTokens.length} tokens long, and the context of ${model.id} holds ` +
      `${model.contextLength} tokens${answer > 0 ? ', answer included' : ''}; shorten the prompt.`;
    throw invalidField(param, message, 'context_length_exceeded');
  }
  return promptTokens;
}

function isPieces(prompt: readonly PromptPiece[] | readonly number[]): prompt is readonly PromptPiece[] {
  return typeof prompt[0] === 'object';
}
