import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { plainSampling } from '../../pipeline/sampling/plainSampling.ts';
import { demoModel } from '../testing/demoGateway.ts';
import type { WholeModel } from '../testing/wholeModel.ts';
import { TokenText } from '../tokenText.ts';
import { jsonObjectGrammar, jsonSchemaGrammar, UnsupportedSchema } from './jsonSchemaGrammar.ts';

let model: WholeModel;
let prompt: number[];
beforeAll(async () => {
  model = await demoModel();
  prompt = await model.tokenize('<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n', {
    addSpecial: true,
    parseSpecial: true,
  });
});
afterAll(() => model.dispose());

/** What the demo model, which knows nothing of JSON, writes under a grammar; null where it found no end. */
async function write(grammar: string, seed: number, temperature = 1.5, maxTokens = 160): Promise<string | null> {
  const sampling = { ...plainSampling, temperature, grammar, seed, choice: 0 };
  const text = new TokenText(model.pieces);
  let written = '';
  const request = { promptTokens: prompt, maxTokens, sampling };
  for await (const { id } of model.generate(request, new AbortController().signal)) {
    if (model.endTokens.has(id)) return written;
    written += text.push(id);
  }
  return null;
}

function refusal(schema: unknown): string {
  try {
    jsonSchemaGrammar(schema);
  } catch (error) {
    if (error instanceof UnsupportedSchema) return error.path;
    throw error;
  }
  throw new Error('Not refused.');
}

const leaf = fc.oneof(
  fc.constantFrom<object>({ type: 'boolean' }, { type: 'null' }, { type: 'integer' }, { type: 'number', minimum: 0 }),
  fc.record({
    type: fc.constant('integer'),
    minimum: fc.integer({ min: -50, max: 0 }),
    maximum: fc.integer({ min: 0, max: 2000 }),
  }),
  fc.record({ type: fc.constant('integer'), exclusiveMinimum: fc.integer({ min: 5, max: 90 }) }),
  fc.record({ type: fc.constant('string'), minLength: fc.nat(2), maxLength: fc.integer({ min: 2, max: 6 }) }),
  fc.record({
    enum: fc.array(fc.oneof(fc.string({ maxLength: 5 }), fc.integer(), fc.boolean(), fc.constant(null)), {
      minLength: 1,
      maxLength: 4,
    }),
  }),
  fc.record({ const: fc.string({ maxLength: 6, unit: 'grapheme' }) }),
  fc.constantFrom<object>(
    { type: 'string', format: 'date' },
    { type: 'string', format: 'uuid' },
    { type: 'string', format: 'date-time' },
  ),
  fc.constantFrom<object>(
    { type: ['boolean', 'null'] },
    { anyOf: [{ type: 'integer', minimum: 3, maximum: 11 }, { type: 'null' }] },
  ),
);
const { schema: anySchema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.record({
      type: fc.constant('array'),
      items: tie('schema'),
      minItems: fc.nat(2),
      maxItems: fc.integer({ min: 2, max: 3 }),
    }),
    fc
      .tuple(
        fc.dictionary(fc.string({ maxLength: 6 }), tie('schema'), { minKeys: 1, maxKeys: 4 }),
        fc.infiniteStream(fc.boolean()),
      )
      .map(([properties, must]) => {
        const required = Object.keys(properties).filter(() => must.next().value);
        return { type: 'object', properties, required, additionalProperties: false, title: 'ignored' };
      }),
  ),
}));

describe('a grammar of a JSON schema', () => {
  it('lets even a model that knows no JSON write nothing but values of the schema', async () => {
    let written = 0;
    await fc.assert(
      fc.asyncProperty(anySchema, fc.nat(1000), async (schema, seed) => {
        const text = await write(jsonSchemaGrammar(schema), seed);
        if (text === null) return;
        written += 1;
        const known = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(JSON.parse(text));
        expect(known.success, `${text} for ${JSON.stringify(schema)}`).toBe(true);
      }),
      { numRuns: 60, seed: 4 },
    );
    expect(written).toBeGreaterThan(40);
  });

  it.each([
    ['of any object', { type: 'object' }],
    ['of anything', true],
    [
      'that leads back to itself',
      {
        $ref: '#/$defs/node',
        $defs: {
          node: {
            type: 'object',
            properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
            required: ['next'],
          },
        },
      },
    ],
    [
      'of a tuple',
      {
        type: 'array',
        prefixItems: [{ type: 'integer' }, { type: 'boolean' }],
        items: { const: 'x' },
        minItems: 1,
        maxItems: 4,
      },
    ],
    ['of a map', { type: 'object', additionalProperties: { type: 'integer', minimum: 1, maximum: 9 } }],
    [
      'told apart by a constant',
      {
        oneOf: [
          { type: 'object', properties: { kind: { const: 'a' } }, required: ['kind'] },
          { type: 'object', properties: { kind: { const: 'b' }, n: { type: 'integer' } }, required: ['kind', 'n'] },
        ],
      },
    ],
    [
      'that names its type by its keywords alone',
      { properties: { a: { minLength: 1, maxLength: 3 } }, required: ['a'] },
    ],
  ])('can be read and followed: one %s', async (_, schema) => {
    const grammar = jsonSchemaGrammar(schema);
    let written = 0;
    for (let seed = 0; seed < 6; seed += 1) {
      const text = await write(grammar, seed, 1);
      if (text === null) continue;
      written += 1;
      const known = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(JSON.parse(text));
      expect(known.success, text).toBe(true);
    }
    expect(written).toBeGreaterThan(0);
  });

  it('writes an object for json_object', async () => {
    const texts = await Promise.all([1, 2, 3, 4].map((seed) => write(jsonObjectGrammar(), seed)));
    const values = texts.filter((text) => text !== null).map((text): unknown => JSON.parse(text));
    expect(values.length).toBeGreaterThan(0);
    for (const value of values) expect(Object.prototype.toString.call(value)).toBe('[object Object]');
  });

  it.each<[string, unknown, string]>([
    ['a pattern', { type: 'string', pattern: '^a' }, 'pattern'],
    ['not', { not: { type: 'null' } }, 'not'],
    ['uniqueItems', { type: 'array', uniqueItems: true }, 'uniqueItems'],
    [
      'propertyNames',
      { type: 'object', properties: { a: { type: 'object', propertyNames: {} } } },
      'properties.a.propertyNames',
    ],
    ['a foreign reference', { $ref: 'https://example.org/schema' }, '$ref'],
    ['a reference to nothing', { $ref: '#/$defs/none' }, '$ref'],
    ['a reference to itself', { $ref: '#' }, '$ref'],
    ['two schemas at once', { allOf: [{ type: 'object' }, { type: 'object' }] }, 'allOf'],
    ['one of several that overlap', { oneOf: [{ type: 'integer' }, { type: 'number' }] }, 'oneOf'],
    ['a format of its own', { type: 'string', format: 'email' }, 'format'],
    ['steps', { type: 'integer', multipleOf: 5 }, 'multipleOf'],
    ['a limit of reals', { type: 'number', maximum: 1.5 }, 'maximum'],
    ['no integer', { type: 'integer', minimum: 3, maximum: 2 }, 'maximum'],
    ['too many items', { type: 'array', minItems: 5000 }, 'minItems'],
    ['a type that there is not', { type: 'tuple' }, 'type'],
    ['nothing', false, ''],
    ['a list', [], ''],
    ['no constant of its type', { type: 'string', enum: [1, 2] }, ''],
    ['a property that may not be', { type: 'object', required: ['a'], additionalProperties: false }, 'required'],
  ])('is refused by the name of what cannot be kept: %s', (_, schema, path) => {
    expect(refusal(schema)).toBe(path);
  });

  it('is refused where it nests without end', () => {
    let schema: object = { type: 'null' };
    for (let depth = 0; depth < 5000; depth += 1) schema = { type: 'array', items: schema };
    expect(refusal(schema)).toMatch(/^items\.items/);
  });

  it('reads or refuses whatever JSON it is given', () => {
    const keyword = fc.constantFrom(
      'type',
      'properties',
      'items',
      'enum',
      'anyOf',
      'oneOf',
      '$ref',
      'required',
      'minItems',
      'const',
    );
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(keyword, fc.jsonValue())), (schema) => {
        try {
          expect(jsonSchemaGrammar(schema)).toMatch(/^root ::= /);
        } catch (error) {
          expect(error).toBeInstanceOf(UnsupportedSchema);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
