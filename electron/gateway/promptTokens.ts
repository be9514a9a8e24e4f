import type { ServedModel } from '../pipeline/serving/servedModel.ts';
import { controlPattern, type PromptPiece } from './template/plainText.ts';

/** UTF-16 units. llama.cpp takes time with the square of the control tokens in a text: long ones are cut where such a token begins. */
const LONG = 8 * 1024;
/** Stretches that are at the tokenizer at once, so that nobody else waits long. */
const AT_ONCE = 16;
/** A token that is longer than so many UTF-16 units is rare. */
const LONG_TOKEN = 8;
/** Tokens that the end of a text may make more where it was cut. */
const CUT_TOKENS = 64;

/**
 * The tokens of a prompt. Once there are more than `most` no others are looked for: `whole` is false then, and they are those of
 * its beginning. The tokenizer adds a begin token where the model wants one; a template that wrote it does not get a second.
 */
export async function promptTokens(
  pieces: readonly PromptPiece[],
  model: ServedModel,
  most: number,
): Promise<{ tokens: number[]; whole: boolean }> {
  const [first] = pieces;
  const begins = first?.plain === false && model.bosText !== '' && first.text.startsWith(model.bosText);
  const stretches = pieces.flatMap((piece) => stretchesOf(piece, model.controlTokens));
  const tokens: number[] = [];
  for (let at = 0; at < stretches.length; at += AT_ONCE) {
    const some = stretches.slice(at, at + AT_ONCE);
    const parts = await Promise.all(
      some.map(({ text, plain }, index) =>
        stretchTokens(text, model, { addSpecial: at + index === 0 && !begins, parseSpecial: !plain, most }),
      ),
    );
    for (const part of parts) {
      for (const token of part.tokens) tokens.push(token);
      if (!part.whole) return { tokens, whole: false };
    }
    if (tokens.length > most) return { tokens, whole: at + AT_ONCE >= stretches.length };
  }
  return { tokens, whole: true };
}

/** What is far longer than the context is told by its beginning. */
async function stretchTokens(
  text: string,
  model: ServedModel,
  { most, ...options }: { addSpecial: boolean; parseSpecial: boolean; most: number },
): Promise<{ tokens: number[]; whole: boolean }> {
  const enough = Math.max(LONG, (most + CUT_TOKENS) * LONG_TOKEN);
  if (text.length > 2 * enough) {
    const beginning = text.slice(0, enough).replace(/[\uD800-\uDBFF]$/, '');
    const tokens = await model.tokenize(beginning, options);
    if (tokens.length - CUT_TOKENS > most) return { tokens: tokens.slice(0, -CUT_TOKENS), whole: false };
  }
  return { tokens: await model.tokenize(text, options), whole: true };
}

function stretchesOf(piece: PromptPiece, controlTokens: ReadonlyMap<number, string>): PromptPiece[] {
  const { text, plain } = piece;
  const controls = plain || text.length <= LONG ? null : controlPattern(controlTokens);
  if (controls === null) return [piece];
  const stretches: PromptPiece[] = [];
  let begin = 0;
  for (const { index } of text.matchAll(controls)) {
    if (index - begin < LONG) continue;
    stretches.push({ text: text.slice(begin, index), plain });
    begin = index;
  }
  return [...stretches, { text: text.slice(begin), plain }];
}
