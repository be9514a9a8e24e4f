import type { GeneratedToken, ServedModel } from '../pipeline/serving/servedModel.ts';
import { AnswerParts } from './answerParts.ts';
import type { AdmittedRequest, AnswerShape, TextEvent, TextUsage } from './textRequest.ts';
import { TokenDetails } from './tokenDetails.ts';
import { TokenText } from './tokenText.ts';
import { generateCalls } from './tools/generateCalls.ts';

/** The tokens that an answer was made of, end tokens too. */
export interface Draws {
  text: GeneratedToken[];
  calls: GeneratedToken[];
  /** What the tokens of the calls follow; null while nothing is called. */
  callContext: readonly number[] | null;
}

export interface GenerateTextOptions {
  choice?: number;
  /** Tokens that the text and the calls begin with: they are taken as if the model had just said them. */
  given?: Pick<Draws, 'text' | 'calls'>;
  /** Filled as they are drawn, the given ones too. */
  draws?: Draws;
  /** Called when its first part has a seat, where that is known before its first token. */
  onSeated?: () => void;
}

/**
 * One answer as it comes: whole characters, no part of a stop string or of a mark, then one `end`. Pulls a token only
 * when the consumer asks. Leaving the loop or aborting `signal` ends the generation on every stage.
 *
 * Where the model begins a call, its text ends and the call is generated under the grammar of its tools; the stages hold what
 * went before, so only the opening is computed.
 */
export async function* generateText(
  admitted: AdmittedRequest,
  signal: AbortSignal,
  { choice = 0, given = { text: [], calls: [] }, draws, onSeated = () => {} }: GenerateTextOptions = {},
): AsyncGenerator<TextEvent> {
  const { request, promptTokens } = admitted;
  const { model, shape } = request;
  const usage: TextUsage = {
    promptTokens: promptTokens.length,
    cachedTokens: null,
    completionTokens: 0,
    reasoningTokens: 0,
  };
  if (shape.calls?.begun === true) {
    const calls = { plan: shape.calls, context: promptTokens, usage, choice, given: given.calls, onSeated };
    yield* generateCalls(admitted, draws === undefined ? calls : { ...calls, draws }, signal);
    return;
  }
  const text = new AnswerText(model, request);
  let ended = false;
  for await (const token of textTokens(admitted, { choice, given: given.text, usage, onSeated }, signal)) {
    usage.completionTokens += 1;
    draws?.text.push(token);
    ended = model.endTokens.has(token.id);
    if (ended) break;
    if (text.parts.thinking) usage.reasoningTokens += 1;
    yield* text.push(token);
    if (text.parts.stopped || text.parts.call !== null) break;
  }
  const { call } = text.parts;
  if (call !== null && shape.calls !== null) {
    const before = await text.tokensBefore(call.at, shape.calls);
    const context = [...promptTokens, ...before];
    const calls = { plan: shape.calls, context, usage, choice, given: given.calls };
    yield* generateCalls(admitted, draws === undefined ? calls : { ...calls, draws }, signal);
    return;
  }
  yield* text.flush();
  yield { kind: 'end', reason: ended || text.parts.stopped ? 'stop' : 'length', usage };
}

/** Where an answer begins. */
interface AnswerBegin {
  choice: number;
  given: readonly GeneratedToken[];
  usage: TextUsage;
  onSeated: () => void;
}

async function* textTokens(
  { request: { model, sampling, bulk }, promptTokens, maxTokens, seed }: AdmittedRequest,
  { choice, given, usage, onSeated }: AnswerBegin,
  signal: AbortSignal,
): AsyncGenerator<GeneratedToken> {
  yield* given;
  if (given.length >= maxTokens) return;
  const request = {
    promptTokens: [...promptTokens, ...given.map(({ id }) => id)],
    answered: given.length,
    maxTokens: maxTokens - given.length,
    sampling: { ...sampling, seed, choice },
    bulk,
    onSeated: ({ cachedTokens }: { cachedTokens: number }): void => {
      usage.cachedTokens = Math.min(cachedTokens, promptTokens.length);
      onSeated();
    },
  };
  yield* model.generate(request, signal);
}

/** The text of an answer, its parts, and which token made what of it. */
class AnswerText {
  readonly parts: AnswerParts;
  readonly #model: ServedModel;
  readonly #text: TokenText;
  readonly #details: TokenDetails;
  readonly #tokens: { id: number; end: number }[] = [];
  #whole = '';

  constructor(model: ServedModel, { shape, stop }: { shape: AnswerShape; stop: readonly string[] }) {
    this.#model = model;
    this.parts = new AnswerParts(shape, stop);
    this.#text = new TokenText(model.pieces, shownTokens(model, shape));
    this.#details = new TokenDetails(model.pieces);
  }

  push(token: GeneratedToken): TextEvent[] {
    this.#details.push(token, this.#whole.length);
    const piece = this.#text.push(token.id);
    this.#whole += piece;
    this.#tokens.push({ id: token.id, end: this.#whole.length });
    return this.#events(this.parts.push(piece));
  }

  flush(): TextEvent[] {
    const events = this.#events(this.parts.flush());
    const tokens = this.parts.stopped ? [] : this.#details.takeAll();
    return tokens.length === 0 ? events : [...events, { kind: 'text', text: '', tokens }];
  }

  /** The tokens of the text before a call that begins at `at`, of its mark and of the plan's opening. */
  async tokensBefore(at: number, { format, opening }: NonNullable<AnswerShape['calls']>): Promise<number[]> {
    const whole = this.#tokens.findIndex(({ end }) => end > at);
    const kept = this.#tokens.slice(0, Math.max(0, whole));
    const text = this.#whole.slice(kept.at(-1)?.end ?? 0, at) + format.begins[0] + opening;
    const rest = await this.#model.tokenize(text, { addSpecial: false, parseSpecial: true });
    return [...kept.map(({ id }) => id), ...rest];
  }

  #events(parts: ReturnType<AnswerParts['push']>): TextEvent[] {
    return parts.map(({ kind, text, end }) => {
      const tokens = this.#details.take(end);
      return kind === 'text' ? { kind, text, tokens } : { kind, text };
    });
  }
}

/** Control tokens that marks are made of. */
function shownTokens({ controlTokens }: ServedModel, { thinking, calls }: AnswerShape): Map<number, string> {
  const marks = [
    ...(thinking === null ? [] : [thinking.open, thinking.close, thinking.skipped ?? '']),
    ...(calls?.format.begins ?? []),
  ].filter((mark) => mark !== '');
  if (marks.length === 0) return new Map();
  return new Map([...controlTokens].filter(([, text]) => marks.some((mark) => mark.includes(text))));
}
