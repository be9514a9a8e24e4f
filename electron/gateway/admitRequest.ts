import { randomInt } from 'node:crypto';
import type { ServedModel } from '../pipeline/servedModel.ts';
import { invalidField } from './gatewayError.ts';
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
  prompt: string | readonly number[],
  model: ServedModel,
  { param, parseSpecial, answer }: { param: string; parseSpecial: boolean; answer: number },
): Promise<readonly number[]> {
  const promptTokens = typeof prompt === 'string' ? await tokensOf(prompt, model, parseSpecial) : prompt;
  const size = model.pieces.offsets.length - 1;
  const unknown = promptTokens.find((token) => token >= size);
  if (unknown !== undefined) {
    throw invalidField(param, `${param} holds token ${unknown}, but ${model.id} has ${size} tokens.`);
  }
  if (promptTokens.length === 0) throw invalidField(param, 'The prompt is empty.');
  if (promptTokens.length + answer > model.contextLength) {
    const message =
      `The prompt is ${promptTokens.length} tokens long, and the context of ${model.id} holds ` +
      `${model.contextLength} tokens${answer > 0 ? ', answer included' : ''}; shorten the prompt.`;
    throw invalidField(param, message, 'context_length_exceeded');
  }
  return promptTokens;
}

/** The tokenizer adds a begin token where the model wants one; a template that wrote it must not get a second. */
function tokensOf(prompt: string, model: ServedModel, parseSpecial: boolean): Promise<number[]> {
  const addSpecial = !parseSpecial || model.bosText === '' || !prompt.startsWith(model.bosText);
  return model.tokenize(prompt, { addSpecial, parseSpecial });
}
