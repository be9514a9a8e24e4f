import { z } from 'zod';
import { plainSampling } from '../../pipeline/sampling/plainSampling.ts';
import type { TokenSampling } from '../../pipeline/serving/servedModel.ts';
import { invalidField } from '../gatewayError.ts';
import { jsonObjectGrammar, jsonSchemaGrammar, UnsupportedSchema } from '../grammar/jsonSchemaGrammar.ts';

const MOST_TOP_LOGPROBS = 20;
const MOST_BIASES = 1024;

const penalty = z.number().min(-2).max(2).nullish();
const repetition = z.number().min(0.01).max(10).nullish();

/** The fields of OpenAI's chat requests that say how tokens are picked, and those of llama-server and vLLM beside them. */
export const samplingFields = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(-1).max(1_000_000).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  repetition_penalty: repetition,
  repeat_penalty: repetition,
  logit_bias: z
    .record(z.string().regex(/^(0|[1-9]\d{0,8})$/, 'must name tokens by their ids'), z.number().min(-100).max(100))
    .nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(MOST_TOP_LOGPROBS).nullish(),
  response_format: z
    .discriminatedUnion(
      'type',
      [
        z.object({ type: z.literal('text') }),
        z.object({ type: z.literal('json_object'), schema: z.unknown().optional() }),
        z.object({
          type: z.literal('json_schema'),
          json_schema: z.object({
            name: z.string(),
            description: z.string().nullish(),
            schema: z.unknown().optional(),
            strict: z.boolean().nullish(),
          }),
        }),
      ],
      { error: 'must be one of text, json_object, json_schema' },
    )
    .nullish(),
  json_schema: z.unknown().optional(),
  grammar: z.string().nullish(),
};
const samplingBody = z.object(samplingFields);

/**
 * How the tokens of a request are picked. Left out, everything is as OpenAI has it: temperature and top_p 1, nothing else.
 * `schemaField` is what the request calls its `json_schema`.
 *
 * @throws GatewayError 400 that names the field.
 */
export function readSampling(
  body: z.infer<typeof samplingBody>,
  schemaField = 'json_schema',
): Omit<TokenSampling, 'seed' | 'choice'> {
  const { repetition_penalty: repetitionPenalty, repeat_penalty: repeatPenalty, top_k: topK } = body;
  if (repetitionPenalty != null && repeatPenalty != null && repetitionPenalty !== repeatPenalty) {
    throw invalidField('repeat_penalty', 'repeat_penalty is another name of repetition_penalty; send one of them.');
  }
  if (body.top_logprobs != null && body.logprobs !== true) {
    throw invalidField('top_logprobs', 'top_logprobs goes only with "logprobs": true.');
  }
  const logitBias = Object.entries(body.logit_bias ?? {}).map(([token, bias]) => [Number(token), bias] as const);
  if (logitBias.length > MOST_BIASES)
    throw invalidField('logit_bias', `logit_bias takes at most ${MOST_BIASES} tokens.`);
  return {
    temperature: body.temperature ?? plainSampling.temperature,
    topK: topK == null || topK === -1 ? plainSampling.topK : topK,
    topP: body.top_p ?? plainSampling.topP,
    minP: body.min_p ?? plainSampling.minP,
    repetitionPenalty: repetitionPenalty ?? repeatPenalty ?? plainSampling.repetitionPenalty,
    frequencyPenalty: body.frequency_penalty ?? plainSampling.frequencyPenalty,
    presencePenalty: body.presence_penalty ?? plainSampling.presencePenalty,
    logitBias,
    grammar: readGrammar(body, schemaField),
    topLogprobs: body.logprobs === true ? (body.top_logprobs ?? 0) : null,
  };
}

/** What the client says of the JSON that it wants, as an instruction; null where it says nothing. */
export function described(format: z.infer<typeof samplingFields.response_format>): string | null {
  if (format?.type !== 'json_schema' || format.json_schema.description == null) return null;
  const { name, description } = format.json_schema;
  return description.trim() === '' ? null : `The answer is the JSON of ${name}: ${description}`;
}

/** @throws GatewayError 400: what the model calls is written by a grammar of its own, and stop strings are looked for in text. */
export function refuseBesideTools(
  { grammar, stop }: Pick<z.infer<typeof samplingBody>, 'grammar'> & { stop?: string | string[] | null | undefined },
  { tools, mustCall }: { tools: readonly unknown[]; mustCall: boolean },
): void {
  if (tools.length > 0 && grammar != null && grammar !== '')
    throw invalidField('grammar', 'grammar does not go together with tools; send one of them.');
  if (mustCall && stop != null && stop.length > 0)
    throw invalidField(
      'stop',
      'stop does not go together with a tool_choice that asks for a call: it ends text alone.',
    );
}

/** At most one field may say what the answer must look like. */
function readGrammar(body: z.infer<typeof samplingBody>, schemaField: string): string | null {
  const { response_format: format, json_schema: schema, grammar } = body;
  const asked = [
    ...(format == null || format.type === 'text' ? [] : ['response_format']),
    ...(schema == null ? [] : ['json_schema']),
    ...(grammar == null || grammar === '' ? [] : ['grammar']),
  ];
  const [first, second] = asked;
  if (second !== undefined)
    throw invalidField(second, `${second} does not go together with ${first}; send one of them.`);
  switch (first) {
    case 'grammar':
      return grammar ?? null;
    case 'json_schema':
      return ofSchema(schema, schemaField);
    case 'response_format':
      if (format?.type === 'json_schema')
        return ofSchema(format.json_schema.schema, 'response_format.json_schema.schema');
      return ofSchema(format?.type === 'json_object' ? format.schema : undefined, 'response_format.schema');
    default:
      return null;
  }
}

/** Without a schema it is any object. */
function ofSchema(schema: unknown, field: string): string {
  try {
    return schema == null ? jsonObjectGrammar() : jsonSchemaGrammar(schema);
  } catch (error) {
    if (!(error instanceof UnsupportedSchema)) throw error;
    const where = error.path === '' ? field : `${field}.${error.path}`;
    throw invalidField(field.split('.')[0] ?? field, `${where} ${error.message}.`, 'unsupported_value');
  }
}
