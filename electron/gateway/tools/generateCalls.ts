import { randomBytes } from 'node:crypto';
import type { GeneratedToken } from '../../pipeline/serving/servedModel.ts';
import type { Draws } from '../generateText.ts';
import type { AdmittedRequest, TextEvent, TextUsage } from '../textRequest.ts';
import { TokenText } from '../tokenText.ts';
import type { CallPlan } from './callPlan.ts';
import { type CallPart, CallScanner } from './callScanner.ts';

export interface CallsInput {
  plan: CallPlan;
  /** The prompt and the answer so far, up to the plan's opening. */
  context: readonly number[];
  /** Of the answer so far; counted on. */
  usage: TextUsage;
  choice: number;
  /** See `GenerateTextOptions`. */
  given: readonly GeneratedToken[];
  draws?: Draws;
  onSeated?: () => void;
}

/** The calls of an answer, kept to the schemas of their tools, then one `end`. */
export async function* generateCalls(
  admitted: AdmittedRequest,
  input: CallsInput,
  signal: AbortSignal,
): AsyncGenerator<TextEvent> {
  const { model } = admitted.request;
  const { plan, usage, draws } = input;
  const scanner = new CallScanner(plan);
  const text = new TokenText(model.pieces);
  let ended = false;
  yield* scanner.begin().map(asEvent);
  if (draws !== undefined) draws.callContext = input.context;
  for await (const token of callTokens(admitted, input, signal)) {
    usage.completionTokens += 1;
    draws?.calls.push(token);
    ended = model.endTokens.has(token.id);
    if (ended) break;
    yield* scanner.push(text.push(token.id)).map(asEvent);
    ended = !plan.parallel && scanner.complete > 0;
    if (ended) break;
  }
  yield { kind: 'end', reason: ended ? 'tool_calls' : 'length', usage };
}

async function* callTokens(
  { request: { model, sampling, bulk }, maxTokens, seed }: AdmittedRequest,
  { plan, context, usage, choice, given, draws, onSeated }: CallsInput,
  signal: AbortSignal,
): AsyncGenerator<GeneratedToken> {
  const room = Math.min(maxTokens - usage.completionTokens, model.contextLength - context.length) - given.length;
  yield* given;
  if (room <= 0) return;
  const topLogprobs = draws === undefined ? null : 0;
  const request = {
    promptTokens: [...context, ...given.map(({ id }) => id)],
    answered: given.length,
    maxTokens: room,
    sampling: { ...sampling, grammar: plan.grammar, topLogprobs, seed, choice },
    bulk,
    onSeated: ({ cachedTokens }: { cachedTokens: number }): void => {
      usage.cachedTokens ??= Math.min(cachedTokens, usage.promptTokens);
      onSeated?.();
    },
  };
  yield* model.generate(request, signal);
}

function asEvent(part: CallPart): TextEvent {
  return part.kind === 'call' ? { ...part, id: `call_${randomBytes(12).toString('hex')}` } : part;
}
