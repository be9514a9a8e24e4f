import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { z } from 'zod';
import { greedySampling } from '../../pipeline/sampling/plainSampling.ts';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { type RawAnswer, rawHttp, readEvents } from './rawHttp.ts';

const expectation = z.strictObject({
  status: z.number().optional(),
  path_equals: z.record(z.string(), z.unknown()).optional(),
  error_param: z.string().optional(),
  error_code: z.string().optional(),
  text_starts: z.string().optional(),
  text_equals: z.string().optional(),
  text_not_contains: z.string().optional(),
  twice_equal: z.literal(true).optional(),
  text_is_json_or_length: z.literal(true).optional(),
  text_matches_schema: z.literal(true).optional(),
  logprobs_count: z.number().optional(),
  top_count: z.number().optional(),
  first_token_not: z.literal('$FIRST_TOKEN').optional(),
  stream: z.literal(true).optional(),
  usage_chunks: z.number().optional(),
  ends_with_done: z.literal(true).optional(),
  last_before_done_has_empty_choices: z.literal(true).optional(),
  no_cors_headers: z.literal(true).optional(),
  choices: z.number().optional(),
  distinct_choices: z.literal(true).optional(),
  no_slash_in: z.string().optional(),
  embeddings: z.number().optional(),
  tool_arguments_equal: z.unknown().optional(),
});
const corpus = z.object({
  cases: z.array(
    z.object({
      name: z.string(),
      method: z.string(),
      path: z.string(),
      body: z.unknown(),
      headers: z.record(z.string(), z.string()).optional(),
      expect: z.record(z.string(), z.unknown()),
    }),
  ),
});
export type OpenAiCase = z.infer<typeof corpus>['cases'][number];

const file = new URL('../../../e2e/cases/openai/cases.json', import.meta.url);
/** Every case that there is. */
export const { cases }: { readonly cases: readonly OpenAiCase[] } = corpus.parse(
  JSON.parse(readFileSync(file, 'utf8')),
);

/** A case by its name. */
export function openAiCase(name: string): OpenAiCase {
  const found = cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no case ${name}.`);
  return found;
}

/** A gateway on loopback that serves the demo model as `model`, with node-llama-cpp or through a pool. */
export interface CaseTarget {
  port: number;
  model: string;
  /** Id of the first token of the answer to `plain`. */
  firstToken: number;
}

export function sendCase(
  target: CaseTarget,
  one: OpenAiCase,
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  const base = `http://127.0.0.1:${target.port}`;
  const fill = (text: string): string =>
    text
      .replaceAll('$MODEL', target.model)
      .replaceAll('$BASE', base)
      .replaceAll('$FIRST_TOKEN', String(target.firstToken));
  const body = one.body === null ? null : typeof one.body === 'string' ? one.body : fill(JSON.stringify(one.body));
  const own = Object.entries(one.headers ?? {}).map(([name, value]) => [name, fill(value)]);
  const type = body === null ? {} : { 'content-type': 'application/json' };
  return rawHttp(target.port, {
    method: one.method,
    path: one.path,
    body,
    headers: { ...type, ...headers, ...Object.fromEntries(own) },
  });
}

/** Sends a case and fails unless what comes back is what it lists. */
export async function expectCase(target: CaseTarget, one: OpenAiCase): Promise<void> {
  const wanted = expectation.parse(one.expect);
  const answer = await sendCase(target, one);
  if (wanted.status !== undefined) expect(answer.status, answer.text).toBe(wanted.status);
  if (wanted.no_cors_headers) expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  if (wanted.stream) {
    checkStream(answer, wanted);
    return;
  }
  if (answer.status === 204) return;
  const body: unknown = JSON.parse(answer.text);
  for (const [path, value] of Object.entries(wanted.path_equals ?? {})) expect(at(body, path), path).toEqual(value);
  if (wanted.error_param !== undefined) expect(at(body, 'error.param')).toBe(wanted.error_param);
  if (wanted.error_code !== undefined) expect(at(body, 'error.code')).toBe(wanted.error_code);
  const text = String(at(body, 'choices.0.message.content') ?? at(body, 'choices.0.text'));
  if (wanted.text_starts !== undefined) expect(text.startsWith(wanted.text_starts), text).toBe(true);
  if (wanted.text_equals !== undefined) expect(text).toBe(wanted.text_equals);
  if (wanted.text_not_contains !== undefined) expect(text).not.toContain(wanted.text_not_contains);
  if (wanted.text_is_json_or_length && at(body, 'choices.0.finish_reason') !== 'length') {
    expect(JSON.parse(text)).toBeTypeOf('object');
  }
  if (wanted.text_matches_schema) {
    const sent = z.custom<z.core.JSONSchema.JSONSchema>().parse(at(one.body, 'response_format.json_schema.schema'));
    const schema = z.fromJSONSchema(sent);
    expect(schema.safeParse(JSON.parse(text)), text).toMatchObject({ success: true });
  }
  if (wanted.logprobs_count !== undefined) {
    expect(at(body, 'choices.0.logprobs.content')).toHaveLength(wanted.logprobs_count);
  }
  for (let index = 0; wanted.top_count !== undefined && index < (wanted.logprobs_count ?? 0); index += 1) {
    expect(at(body, `choices.0.logprobs.content.${index}.top_logprobs`)).toHaveLength(wanted.top_count);
  }
  if (wanted.first_token_not !== undefined) {
    const plain: unknown = JSON.parse((await sendCase(target, openAiCase('plain'))).text);
    expect(String(at(plain, 'choices.0.message.content')).startsWith(text), text).toBe(false);
  }
  const all = Array.from({ length: wanted.choices ?? 0 }, (_, index) => at(body, `choices.${index}.message.content`));
  if (wanted.choices !== undefined) expect(at(body, 'choices')).toHaveLength(wanted.choices);
  if (wanted.distinct_choices) expect(new Set(all).size).toBe(all.length);
  if (wanted.no_slash_in !== undefined) expect(at(body, wanted.no_slash_in)).not.toContain('/');
  if (wanted.embeddings !== undefined) {
    expect(at(body, 'data')).toHaveLength(wanted.embeddings);
    for (let index = 0; index < wanted.embeddings; index += 1) {
      const bytes = Buffer.from(String(at(body, `data.${index}.embedding`)), 'base64');
      expect(bytes.length).toBeGreaterThan(0);
      expect(bytes.length % Float32Array.BYTES_PER_ELEMENT).toBe(0);
    }
  }
  if (wanted.tool_arguments_equal !== undefined) {
    const sent = String(at(body, 'choices.0.message.tool_calls.0.function.arguments'));
    expect(JSON.parse(sent)).toEqual(wanted.tool_arguments_equal);
  }
  if (wanted.twice_equal) {
    const again: unknown = JSON.parse((await sendCase(target, one)).text);
    expect(at(again, 'choices.0.message')).toEqual(at(body, 'choices.0.message'));
  }
}

function checkStream(answer: RawAnswer, wanted: z.infer<typeof expectation>): void {
  expect(answer.headers['content-type']).toMatch(/^text\/event-stream/);
  const { events, done } = readEvents(answer.text);
  if (wanted.ends_with_done) expect(done).toBe(true);
  const usage = events.filter((event) => (at(event, 'usage') ?? null) !== null);
  if (wanted.usage_chunks !== undefined) expect(usage).toHaveLength(wanted.usage_chunks);
  if (wanted.last_before_done_has_empty_choices) expect(at(events.at(-1), 'choices')).toEqual([]);
}

/** The value at a dotted path. */
export function at(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
      value,
    );
}

/** The first token that a served model says to the case `plain`, where no template asks for more than ChatML. */
export async function firstTokenOfPlain(model: ServedModel): Promise<number> {
  const prompt = '<|im_start|>user\nWhat is a hop?<|im_end|>\n<|im_start|>assistant\n';
  const promptTokens = await model.tokenize(prompt, { addSpecial: true, parseSpecial: true });
  const request = { promptTokens, maxTokens: 1, sampling: greedySampling };
  for await (const { id } of model.generate(request, new AbortController().signal)) return id;
  throw new Error('The model says nothing.');
}
