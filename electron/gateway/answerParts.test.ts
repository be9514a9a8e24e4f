import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerParts } from './answerParts.ts';
import { plainShape } from './textRequest.ts';
import { hermesCalls } from './tools/callFormat.ts';
import { planCalls } from './tools/callPlan.ts';

const marks = { open: '<think>', close: '</think>', skipped: '<final>' };
const tool = { name: 'now', parameters: { type: 'object' }, strict: false };
const shape = {
  thinking: { ...marks, begun: false },
  calls: planCalls([tool], hermesCalls, { parallel: true, begun: false }),
};

function read(pieces: readonly string[], asked: typeof shape | typeof plainShape, stop: string[] = []) {
  const parts = new AnswerParts(asked, stop);
  const shown = [...pieces.flatMap((piece) => parts.push(piece)), ...parts.flush()];
  const of = (kind: string): string => shown.flatMap((part) => (part.kind === kind ? part.text : '')).join('');
  return { thought: of('reasoning'), said: of('text'), call: parts.call, stopped: parts.stopped, shown };
}

describe('AnswerParts', () => {
  it.each([
    ['Hello', { thought: '', said: 'Hello' }],
    ['<think>\nHm.\n</think>\n\nHello', { thought: 'Hm.', said: 'Hello' }],
    ['<think>\n\n</think>\n\nHello', { thought: '', said: 'Hello' }],
    ['\n<think>Hm', { thought: 'Hm', said: '' }],
    ['<final>Hello', { thought: '', said: 'Hello' }],
    ['<thin air', { thought: '', said: '<thin air' }],
    ['<think>a</think>b <tool_call>{', { thought: 'a', said: 'b ', call: { at: 18 } }],
    ['Hello <tool_c', { said: 'Hello <tool_c', call: null }],
    ['Hello STOP<tool_call>', { said: 'Hello ', call: null, stopped: true }],
    ['<think>STOP</think>Hello', { thought: 'STOP', said: 'Hello', stopped: false }],
  ])('reads %j', (text, wanted) => {
    expect(read([text], shape, ['STOP'])).toMatchObject(wanted);
  });

  it('reads the same wherever the pieces are cut, and says where each part ends', () => {
    const word = fc.constantFrom(
      '<think>',
      '</think>',
      '<tool_call>',
      '<',
      'ST',
      'OP',
      '\n',
      ' ',
      'a',
      '漢',
      '<final>',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), fc.array(fc.nat(40), { maxLength: 6 }), (words, cuts) => {
        const text = words.join('');
        const places = [...new Set([0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length])].sort(
          (a, b) => a - b,
        );
        const pieces = places.slice(1).map((end, index) => text.slice(places[index], end));
        const { shown: _, ...whole } = read([text], shape, ['STOP']);
        const { shown, ...cut } = read(pieces, shape, ['STOP']);
        expect(cut).toEqual(whole);
        for (const part of shown.filter(({ kind }) => kind === 'text')) {
          expect(text.slice(part.end - part.text.length, part.end)).toBe(part.text);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('leaves marks alone where nothing is looked for', () => {
    expect(read(['<think>a</think>', '<tool_call>'], plainShape)).toMatchObject({
      said: '<think>a</think><tool_call>',
    });
  });
});
