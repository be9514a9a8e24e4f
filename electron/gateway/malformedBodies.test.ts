import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_MODEL_ID, demoGateway } from './testing/demoGateway.ts';
import { rawHttp } from './testing/rawHttp.ts';

/** The same bodies every time. */
const SEED = 7;

let gateway: Awaited<ReturnType<typeof demoGateway>>;
beforeAll(async () => {
  gateway = await demoGateway({ bodyLimit: 100_000 });
});
afterAll(async () => {
  await gateway.close();
});

const send = (body: string | Buffer) =>
  rawHttp(gateway.port, {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body,
  });

// A key __proto__ is refused before any field is looked at.
const json = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('__proto__'));
const object = fc.dictionary(
  fc.string().filter((key) => key !== '__proto__'),
  json,
);

/** For each field values of kinds that it never takes. */
const scalar = fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());
const notNumber = fc.oneof(fc.string(), fc.boolean(), fc.array(json), object);
const notList = fc.oneof(scalar, object);
const wrongValues = {
  model: fc.oneof(fc.integer(), fc.constant(null), fc.array(fc.string())),
  messages: fc.oneof(notList, fc.constant([]), fc.array(scalar, { minLength: 1 })),
  max_tokens: fc.oneof(notNumber, fc.integer({ max: 0 }), fc.constant(0.5)),
  max_completion_tokens: fc.oneof(notNumber, fc.integer({ max: 0 })),
  temperature: fc.oneof(notNumber, fc.double({ max: -0.001, noNaN: true, noDefaultInfinity: true })),
  top_p: fc.oneof(notNumber, fc.double({ min: 1.001, noNaN: true, noDefaultInfinity: true })),
  seed: fc.oneof(notNumber, fc.constant(1.5), fc.constant(1e300)),
  stop: fc.oneof(fc.integer(), fc.boolean(), fc.constant(''), fc.array(fc.integer(), { minLength: 1 })),
  stream: fc.oneof(fc.string(), fc.integer(), fc.array(json)),
  stream_options: fc.oneof(scalar, fc.array(json)),
  n: fc.oneof(
    notNumber,
    fc.integer().filter((n) => n < 1 || n > 8),
  ),
  tools: fc.oneof(notList, fc.array(json, { minLength: 1 })),
  response_format: fc.oneof(scalar, fc.array(json)),
};
const wrongField = fc.oneof(
  ...Object.entries(wrongValues).map(([field, values]) =>
    (values as fc.Arbitrary<unknown>).map((value) => ({ field, value })),
  ),
);

describe('malformed bodies', () => {
  it('with one wrong field get 400 with its name', async () => {
    const body = { model: DEMO_MODEL_ID, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 };
    await fc.assert(
      fc.asyncProperty(wrongField, async ({ field, value }) => {
        const answer = await send(JSON.stringify({ ...body, [field]: value }));
        expect(answer.status, answer.text).toBe(400);
        expect(String(JSON.parse(answer.text).error.param).split('.')[0]).toBe(field);
      }),
      { numRuns: 500, seed: SEED },
    );
  });

  it('of any bytes get a 4xx in the shape of all errors', async () => {
    const nested = fc
      .tuple(fc.constantFrom('[', '{"a":', '{"messages":['), fc.integer({ min: 1, max: 30_000 }))
      .map(([open, times]) => open.repeat(times).slice(0, 120_000));
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.json().map((text) => Buffer.from(text)),
      fc.integer({ min: 20_000, max: 60_000 }).map((length) => Buffer.from(JSON.stringify('é'.repeat(length)))),
      nested.map((text) => Buffer.from(text)),
    );
    await fc.assert(
      fc.asyncProperty(body, async (bytes) => {
        const answer = await send(bytes);
        expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
        expect(answer.status, answer.text).toBeLessThan(500);
        expect(typeof JSON.parse(answer.text).error.message).toBe('string');
      }),
      { numRuns: 300, seed: SEED },
    );
    expect(gateway.lines.filter((line) => Number(line.level) >= 50)).toEqual([]);
    expect(gateway.model.running()).toBe(0);
  });
});
