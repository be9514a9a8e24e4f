import { z } from 'zod';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { invalidField } from '../gatewayError.ts';
import { parseBody } from '../parseBody.ts';
import { plainShape, type TextRequest } from '../textRequest.ts';
import { TokenText } from '../tokenText.ts';
import {
  type AnswerCall,
  answerFields,
  lengthFields,
  readAnswerCall,
  readLength,
  refuseUnknownBias,
} from './answerBody.ts';
import { refuseUnserved } from './refusedFields.ts';
import { readSampling, samplingFields } from './samplingBody.ts';

/** What OpenAI takes where a completion leaves it out. */
const DEFAULT_MAX_TOKENS = 16;
const MOST_LOGPROBS = 20;

const { logprobs: _flag, top_logprobs: _top, ...pickingFields } = samplingFields;

const tokens = z.array(z.int().min(0)).min(1);

const completionBody = z.object({
  ...answerFields,
  ...pickingFields,
  prompt: z.union([z.string(), tokens, z.array(z.string()), z.array(tokens)]),
  ...lengthFields,
  logprobs: z.int().min(0).max(MOST_LOGPROBS).nullish(),
  echo: z.boolean().nullish(),
});

/** A legacy completion that is well formed; nothing of it was dropped. */
export interface CompletionCall extends AnswerCall {
  prompt: string | number[];
  /** The answer begins with the prompt. */
  echo: boolean;
}

/**
 * Reads the body of `POST /v1/completions`: one prompt, as text or tokens. Unknown fields are ignored.
 *
 * @throws GatewayError 400 that names the field.
 */
export function readCompletionBody(input: unknown): CompletionCall {
  const body = parseBody(completionBody, input);
  refuseUnserved('completions', input);
  const { logprobs, ...picking } = body;
  const maxTokens = readLength(body);
  const echo = body.echo ?? false;
  if (echo && logprobs != null) {
    const message = 'echo does not go together with logprobs: those of a prompt are not computed.';
    throw invalidField('echo', message, 'unsupported_value');
  }
  const sampling = readSampling(logprobs == null ? picking : { ...picking, logprobs: true, top_logprobs: logprobs });
  return {
    ...readAnswerCall(body, { maxTokens: maxTokens ?? DEFAULT_MAX_TOKENS, sampling }),
    prompt: onePrompt(body.prompt),
    echo,
  };
}

/** A list of prompts may hold one. @throws GatewayError 400. */
function onePrompt(prompt: z.infer<typeof completionBody>['prompt']): string | number[] {
  if (typeof prompt === 'string') return prompt;
  const [first, second] = prompt;
  if (typeof first === 'number') return prompt.filter((one) => typeof one === 'number');
  if (first !== undefined && second === undefined) return first;
  throw invalidField('prompt', 'prompt takes one prompt at a time; send the others in requests of their own.');
}

/** The completion as its model is to see it. */
export function completionTextRequest(call: CompletionCall, model: ServedModel): TextRequest {
  refuseUnknownBias(call, model);
  return { ...call.settings, model, prompt: call.prompt, shape: plainShape };
}

/** What the answer begins with: the prompt where it is to be repeated. */
export function echoText({ echo, prompt }: CompletionCall, model: ServedModel): string {
  if (!echo) return '';
  if (typeof prompt === 'string') return prompt;
  const text = new TokenText(model.pieces);
  return prompt.map((token) => text.push(token)).join('');
}
