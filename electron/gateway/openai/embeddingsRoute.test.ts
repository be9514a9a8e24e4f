import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_MODEL_ID, demoGateway } from '../testing/demoGateway.ts';
import { rawHttp } from '../testing/rawHttp.ts';

let gateway: Awaited<ReturnType<typeof demoGateway>>;
beforeAll(async () => {
  gateway = await demoGateway();
});
afterAll(() => gateway.close());

interface Answer {
  data: { embedding: number[] & string; index: number }[];
  usage: { prompt_tokens: number };
  error: { message: string; param: string | null; code: string | null };
}

async function ask(body: object): Promise<{ status: number; answer: Answer }> {
  const { status, text } = await rawHttp(gateway.port, {
    method: 'POST',
    path: '/v1/embeddings',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: DEMO_MODEL_ID, ...body }),
  });
  return { status, answer: JSON.parse(text) };
}

const cosine = (one: readonly number[], other: readonly number[]): number =>
  one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);

describe('POST /v1/embeddings', () => {
  it('takes a text, texts, tokens and lists of tokens, and says the same of the same', async () => {
    const tokens = await gateway.model.tokenize('A hop.', { addSpecial: true, parseSpecial: false });
    const inputs = ['A hop.', ['A hop.', 'Bread.'], tokens, [tokens, tokens]];
    const vectors: number[][] = [];
    for (const input of inputs) {
      const { answer } = await ask({ input });
      vectors.push(...answer.data.map(({ embedding }) => embedding));
    }
    expect(vectors).toHaveLength(6);
    const [first = []] = vectors;
    for (const [index, vector] of vectors.entries()) {
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
      if (index === 2) expect(cosine(first, vector)).toBeLessThan(0.99);
      else expect(cosine(first, vector)).toBeCloseTo(1, 4);
    }
    expect((await ask({ input: [tokens, tokens] })).answer.usage.prompt_tokens).toBe(2 * tokens.length);
  });

  it('reads no special tokens in a text', async () => {
    const { answer } = await ask({ input: '<|im_start|>' });
    const asText = await gateway.model.tokenize('<|im_start|>', { addSpecial: true, parseSpecial: false });
    expect(answer.usage.prompt_tokens).toBe(asText.length);
    expect(asText.length).toBeGreaterThan(1);
  });

  it('gives base64 of the same numbers, and fewer dimensions of length 1', async () => {
    const plain = (await ask({ input: 'A hop.' })).answer.data[0]?.embedding ?? [];
    const packed = (await ask({ input: 'A hop.', encoding_format: 'base64' })).answer.data[0]?.embedding ?? '';
    const bytes = Buffer.from(packed, 'base64');
    const values = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
    expect(cosine(values, plain)).toBeCloseTo(1, 4);
    const short = (await ask({ input: 'A hop.', dimensions: 8 })).answer.data[0]?.embedding ?? [];
    expect(short).toHaveLength(8);
    expect(Math.hypot(...short)).toBeCloseTo(1, 5);
    const beginning = plain.slice(0, 8);
    expect(cosine(short, beginning) / Math.hypot(...beginning)).toBeCloseTo(1, 4);
  });

  it('takes a text as long as the context, and refuses what cannot be by its name', async () => {
    const { contextLength } = gateway.model;
    const tokens = (count: number): number[] => Array.from({ length: count }, (_, index) => 300 + (index % 50));
    expect((await ask({ input: tokens(contextLength) })).status).toBe(200);
    const long = await ask({ input: tokens(contextLength + 1) });
    expect(long.answer.error).toMatchObject({ param: 'input', code: 'context_length_exceeded' });
    expect(long.answer.error.message).toMatch(/2049.*2048/);
    const refused: [object, string][] = [
      [{}, 'input'],
      [{ input: '' }, 'input'],
      [{ input: [] }, 'input'],
      [{ input: ['a', ''] }, 'input.1'],
      [{ input: [[]] }, 'input.0'],
      [{ input: ['a', 1] }, 'input.1'],
      [{ input: [-1] }, 'input.0'],
      [{ input: [99_999] }, 'input'],
      [{ input: { a: 1 } }, 'input'],
      [{ input: 'a', encoding_format: 'int8' }, 'encoding_format'],
      [{ input: 'a', dimensions: 0 }, 'dimensions'],
      [{ input: ['a', 'b', 'c'], dimensions: 100_000 }, 'dimensions'],
      [{ input: 'a', model: 'none' }, 'model'],
    ];
    for (const [body, param] of refused) {
      const { status, answer } = await ask(body);
      expect([status, answer.error.param], JSON.stringify(body)).toEqual([param === 'model' ? 404 : 400, param]);
    }
    expect(gateway.model.running()).toBe(0);
  });
});
