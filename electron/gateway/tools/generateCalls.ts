import { randomBytes } from 'node:crypto';
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
}

/** The calls of an answer, kept to the schemas of their tools, then one `end`. */
export async function* generateCalls(
  { request: { model, sampling, bulk }, maxTokens, seed }: AdmittedRequest,
  { plan, context, usage, choice }: CallsInput,
  signal: AbortSignal,
): AsyncGenerator<TextEvent> {
  const scanner = new CallScanner(plan);
  const text = new TokenText(model.pieces);
  const room = Math.min(maxTokens - usage.completionTokens, model.contextLength - context.length);
  let ended = false;
  yield* scanner.begin().map(asEvent);
  if (room > 0) {
    const request = {
      promptTokens: context,
      maxTokens: room,
      sampling: { ...sampling, grammar: plan.grammar, topLogprobs: null, seed, choice },
      bulk,
      onSeated: ({ cachedTokens }: { cachedTokens: number }): void => {
        usage.cachedTokens ??= Math.min(cachedTokens, usage.promptTokens);
      },
    };
    for await (const token of model.generate(request, signal)) {
      usage.completionTokens += 1;
      ended = model.endTokens.has(token.id);
      if (ended) break;
      yield* scanner.push(text.push(token.id)).map(asEvent);
      ended = !plan.parallel && scanner.complete > 0;
      if (ended) break;
    }
  }
  yield { kind: 'end', reason: ended ? 'tool_calls' : 'length', usage };
}

function asEvent(part: CallPart): TextEvent {
  return part.kind === 'call' ? { ...part, id: `call_${randomBytes(12).toString('hex')}` } : part;
}
