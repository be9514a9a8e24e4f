import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoModel } from '../testing/demoGateway.ts';
import type { WholeModel } from '../testing/wholeModel.ts';
import { callFormats } from './callFormat.ts';
import { planCalls } from './callPlan.ts';
import { CallScanner } from './callScanner.ts';

const tool = (name: string, parameters: Record<string, unknown> = {}) => ({
  ...{ name, strict: false },
  parameters: { type: 'object', ...parameters },
});
const strings = ['plain', '}"]{ \\" and more', '\n</tool_call>', '[ARGS]'];
const written = strings.map((text) => JSON.stringify({ text, inner: { list: [1, { a: null }] } }));

describe.each(callFormats)('calls in the format $name', (format) => {
  it('are read as they are written, wherever the pieces are cut', () => {
    const plan = planCalls([tool('now'), tool('weather')], format, { parallel: true, begun: false });
    const made = format.next === null ? written.slice(0, 1) : written;
    const texts = made.map((text) => `now${format.toArguments} ${text}${format.close}`);
    const whole = texts.join(format.next ?? '') + format.end;
    for (const size of [1, 3, 7, whole.length]) {
      const scanner = new CallScanner(plan);
      const parts = [];
      for (let at = 0; at < whole.length; at += size) parts.push(...scanner.push(whole.slice(at, at + size)));
      const read: string[] = [];
      for (const part of parts) {
        if (part.kind === 'call') expect(part).toEqual({ kind: 'call', index: read.push('') - 1, name: 'now' });
        else read[part.index] += part.text;
      }
      expect(read).toEqual(made);
      expect(scanner.complete).toBe(made.length);
    }
  });

  it('have a name that stands in the prompt where there is one tool', () => {
    const scanner = new CallScanner(planCalls([tool('now')], format, { parallel: false, begun: true }));
    expect(scanner.begin()).toEqual([{ kind: 'call', index: 0, name: 'now' }]);
    expect(scanner.push(' {"a": 1}')).toEqual([{ kind: 'arguments', index: 0, text: '{"a": 1}' }]);
  });
});

describe('the grammar of a plan', () => {
  let model: WholeModel;
  beforeAll(async () => {
    model = await demoModel();
  });
  afterAll(() => model.dispose());

  /** Fails where llama.cpp cannot read the grammar. */
  async function firstToken(grammar: string): Promise<number | undefined> {
    const promptTokens = await model.tokenize('Hello', { addSpecial: true, parseSpecial: true });
    const picked = {
      temperature: 0,
      topK: 0,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      frequencyPenalty: 0,
      presencePenalty: 0,
    };
    const sampling = { ...picked, logitBias: [], grammar, topLogprobs: null, seed: 1, choice: 0 };
    for await (const { id } of model.generate({ promptTokens, maxTokens: 1, sampling }, new AbortController().signal))
      return id;
    return undefined;
  }

  it.each(callFormats)('is one that llama.cpp reads: $name', async (format) => {
    const properties = { city: { type: 'string', enum: ['Oslo', 'Rome'] }, days: { type: 'integer', minimum: 1 } };
    for (const tools of [[tool('now')], [tool('now'), tool('weather', { properties, required: ['city'] })]]) {
      for (const parallel of [false, true]) {
        const { grammar } = planCalls(tools, format, { parallel, begun: true });
        expect(await firstToken(grammar), grammar).toBeTypeOf('number');
      }
    }
  });

  it('lets go of schemas that are too large together, but not of strict ones', async () => {
    const names = Array.from({ length: 3000 }, (_, index) => `some-rather-long-value-number-${index}`);
    const tools = Array.from({ length: 5 }, (_, index) =>
      tool(`tool${index}`, { properties: { value: { enum: names.map((name) => name + index) } } }),
    );
    const [format] = callFormats;
    if (format === undefined) throw new Error('There is no format.');
    const { grammar } = planCalls(tools, format, { parallel: true, begun: false });
    expect(grammar.length).toBeLessThan(10_000);
    expect(await firstToken(grammar)).toBeTypeOf('number');
    const strict = tools.map((each) => ({ ...each, strict: true }));
    expect(() => planCalls(strict, format, { parallel: true, begun: false })).toThrow(/too large together/);
  });
});
