import type { ChatRequest, GenerateRequest, Options } from 'ollama';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { GatewayError } from './gatewayError.ts';
import { readOllamaChat, readOllamaGenerate } from './ollama/ollamaBody.ts';
import { readChatBody } from './openai/chatBody.ts';
import { readCompletionBody } from './openai/completionBody.ts';
import { readEmbeddingsBody } from './openai/embeddingsBody.ts';
import { readResponseBody } from './responses/responseBody.ts';

/** What becomes of a field: it changes what is asked, or it is refused by name but for values that change nothing, or it has no bearing. */
type Fate =
  | { kind: 'honoured'; value: unknown; beside: object }
  | { kind: 'refused'; value: unknown; harmless: readonly unknown[] }
  | { kind: 'hint'; value: unknown };
type Fates<Field extends PropertyKey = string> = Record<Field, Fate>;

/** `beside` goes with it in the request. */
const honoured = (value: unknown, beside: object = {}): Fate => ({ kind: 'honoured', value, beside });
const refused = (value: unknown, ...harmless: unknown[]): Fate => ({ kind: 'refused', value, harmless });
const hint = (value: unknown): Fate => ({ kind: 'hint', value });

const tool = { type: 'function', function: { name: 'f' } };
const schema = { type: 'object', properties: {} };

/** Of tools/server of llama.cpp, wherever it generates. */
const llamaFields: Fates = {
  adaptive_decay: refused(0.5, 0.9),
  adaptive_target: refused(0.5, -1),
  backend_sampling: refused(true, false),
  cache_prompt: refused(false, true),
  chat_format: refused(1),
  chat_parser: refused('x'),
  dry_allowed_length: refused(3, 2),
  dry_base: refused(2, 1.75),
  dry_multiplier: refused(0.8, 0),
  dry_penalty_last_n: refused(7, 64, -1, 0),
  dry_sequence_breakers: refused(['x'], ['\n', ':', '"', '*']),
  dynatemp_exponent: refused(2, 1),
  dynatemp_range: refused(0.5, 0),
  frequency_penalty: honoured(1),
  generation_prompt: refused('x'),
  grammar: honoured('root ::= "a"'),
  grammar_lazy: refused(true, false),
  grammar_triggers: refused([{ type: 0, value: 'x' }], []),
  id_slot: refused(1, -1),
  ignore_eos: refused(true, false),
  image_data: refused([{ id: 1, data: 'x' }], []),
  json_schema: honoured(schema),
  logit_bias: honoured({ 7: 1 }),
  lora: refused([{ id: 0, scale: 1 }], []),
  min_keep: refused(3, 0),
  min_p: honoured(0.1),
  mirostat: refused(2, 0),
  mirostat_eta: refused(0.2, 0.1),
  mirostat_tau: refused(3, 5),
  n_cache_reuse: refused(256, 0),
  n_cmpl: refused(2, 1),
  n_discard: refused(8, 0),
  n_indent: refused(2, 0),
  n_keep: refused(8, 0, -1),
  n_predict: refused(8, -1),
  multimodal_data: refused(['x'], []),
  n_probs: refused(3, 0),
  parse_tool_calls: refused(false, true),
  penalty_last_n: refused(32),
  post_sampling_probs: refused(true, false),
  presence_penalty: honoured(1),
  preserved_tokens: refused(['x'], []),
  reasoning_budget: refused(100, -1),
  reasoning_budget_end_tag: refused('x'),
  reasoning_budget_end_tags: refused(['x']),
  reasoning_budget_message: refused('Enough.', ''),
  reasoning_budget_start_tag: refused('x'),
  reasoning_budget_tokens: refused(100, -1),
  reasoning_control: refused(true, false),
  reasoning_format: refused('none', 'auto'),
  repeat_last_n: hint(32),
  repeat_penalty: honoured(1.1),
  response_fields: refused(['content'], []),
  return_progress: refused(true, false),
  return_tokens: refused(true, false),
  samplers: refused(['top_k'], []),
  seed: honoured(3),
  sse_ping_interval: refused(1, 30),
  stop: honoured('x'),
  stream: honoured(true),
  t_max_predict_ms: refused(100, -1),
  t_max_prompt_ms: refused(100, -1),
  temperature: honoured(0.5),
  thinking_budget_tokens: refused(100, -1),
  timings_per_token: refused(true, false),
  top_k: honoured(5),
  top_n_sigma: refused(1, -1),
  top_p: honoured(0.5),
  typical_p: refused(0.5, 1),
  verbose: refused(true, false),
  xtc_probability: refused(0.5, 0),
  xtc_threshold: refused(0.3, 0.1),
};

/** Of the protocols of vLLM, wherever it generates. */
const vllmFields: Fates = {
  allowed_token_ids: refused([1]),
  bad_words: refused(['x'], []),
  cache_salt: refused('x'),
  guided_choice: refused(['a']),
  guided_decoding_backend: refused('x'),
  guided_grammar: refused('x'),
  guided_json: refused(schema),
  guided_regex: refused('a+'),
  guided_whitespace_pattern: refused('x'),
  include_stop_str_in_output: refused(true, false),
  kv_transfer_params: refused({}),
  length_penalty: refused(2, 1),
  logits_processors: refused(['x'], []),
  min_tokens: refused(3, 0),
  mm_processor_kwargs: refused({ a: 1 }),
  priority: refused(1, 0),
  prompt_embeds: refused('x'),
  prompt_logprobs: refused(1),
  repetition_detection: refused({ min_count: 3 }),
  repetition_penalty: honoured(1.1),
  request_id: refused('x'),
  return_token_ids: refused(true, false),
  return_tokens_as_token_ids: refused(true, false),
  skip_special_tokens: refused(false, true),
  spaces_between_special_tokens: refused(false, true),
  stop_token_ids: refused([1], []),
  structured_outputs: refused({ regex: 'a' }),
  truncate_prompt_tokens: refused(5),
  truncation_side: refused('left'),
  use_beam_search: refused(true, false),
  vllm_xargs: refused({ a: 1 }, {}),
};

/** Of SGLang's. */
const sglangFields: Fates = {
  custom_logit_processor: refused('x'),
  ebnf: refused('root ::= "a"'),
  lora_path: refused('x'),
  min_new_tokens: refused(3, 0),
  no_stop_trim: refused(true, false),
  regex: refused('a+'),
  return_hidden_states: refused(true, false),
  rid: refused('x'),
  separate_reasoning: refused(false, true),
  session_params: refused({ id: 'x' }),
  stop_regex: refused('a+'),
  stream_reasoning: refused(false, true),
};
const serverFields: Fates = { ...llamaFields, ...vllmFields, ...sglangFields };

const chatFields: Fates<keyof OpenAI.ChatCompletionCreateParams> & Fates = {
  ...serverFields,
  audio: refused({ voice: 'alloy', format: 'wav' }),
  frequency_penalty: honoured(1),
  function_call: refused({ name: 'f' }, 'none', 'auto'),
  functions: refused([{ name: 'f' }], []),
  logit_bias: honoured({ 7: 1 }),
  logprobs: honoured(true),
  max_completion_tokens: honoured(5),
  max_tokens: honoured(5),
  messages: honoured([{ role: 'user', content: 'x' }]),
  metadata: hint({ a: 'b' }),
  modalities: refused(['text', 'audio'], ['text']),
  model: honoured('other'),
  moderation: refused({ model: 'x' }),
  n: honoured(2),
  parallel_tool_calls: honoured(false, { tools: [tool] }),
  prediction: refused({ type: 'content', content: 'x' }),
  presence_penalty: honoured(1),
  prompt_cache_key: hint('x'),
  prompt_cache_options: hint({}),
  'prompt_cache_options.comparison_response_id': refused('resp_1'),
  'prompt_cache_options.mode': refused('explicit', 'implicit'),
  'prompt_cache_options.prewarm': refused(true, false),
  'prompt_cache_options.ttl': refused('1h', '30m'),
  prompt_cache_retention: refused('24h', 'in_memory'),
  reasoning_effort: honoured('low'),
  response_format: honoured({ type: 'json_object' }),
  safety_identifier: hint('x'),
  seed: honoured(3),
  service_tier: honoured('flex'),
  stop: honoured(['x']),
  store: refused(true, false),
  stream: honoured(true),
  stream_options: honoured({ include_usage: true }, { stream: true }),
  temperature: honoured(0.5),
  tool_choice: honoured('required', { tools: [tool] }),
  tools: honoured([tool]),
  top_logprobs: honoured(2, { logprobs: true }),
  top_p: honoured(0.5),
  user: hint('ann'),
  verbosity: refused('low', 'medium'),
  web_search_options: refused({}),
  // Of vLLM and others.
  add_generation_prompt: refused(false, true),
  add_special_tokens: refused(true, false),
  best_of: refused(2, 1),
  chat_template: honoured('generic'),
  chat_template_kwargs: honoured({ a: 1 }),
  continue_final_message: refused(true, false),
  documents: refused([{ text: 'x' }], []),
  echo: refused(true, false),
  enable_thinking: refused(true),
  include_reasoning: refused(false, true),
  media_io_kwargs: refused({ video: {} }),
  reasoning: refused({ effort: 'low' }),
  think: refused(false),
  thinking: refused({ type: 'enabled' }),
  thinking_budget: refused(100),
  thinking_token_budget: refused(100),
};

const completionFields: Fates<keyof OpenAI.CompletionCreateParams> & Fates = {
  ...serverFields,
  add_special_tokens: refused(false, true),
  best_of: refused(2, 1),
  echo: honoured(true),
  frequency_penalty: honoured(1),
  logit_bias: honoured({ 7: 1 }),
  logprobs: honoured(2),
  max_completion_tokens: honoured(5),
  max_tokens: honoured(5),
  model: honoured('other'),
  n: honoured(2),
  presence_penalty: honoured(1),
  prompt: honoured('other'),
  response_format: honoured({ type: 'json_object' }),
  seed: honoured(3),
  stop: honoured('x'),
  stream: honoured(true),
  stream_options: honoured({ include_usage: true }, { stream: true }),
  suffix: refused('x', ''),
  temperature: honoured(0.5),
  top_p: honoured(0.5),
  user: hint('ann'),
};

const embeddingFields: Fates<keyof OpenAI.EmbeddingCreateParams> & Fates = {
  dimensions: honoured(8),
  encoding_format: honoured('base64'),
  input: honoured('other'),
  model: honoured('other'),
  user: hint('ann'),
  // Of llama-server and vLLM.
  add_special_tokens: refused(false, true),
  cache_salt: refused('x'),
  content: refused('x'),
  embd_normalize: refused(-1, 2),
  embed_dtype: refused('float16', 'float32'),
  endianness: refused('big', 'native', 'little'),
  messages: refused([{ role: 'user', content: 'x' }]),
  mm_processor_kwargs: refused({ a: 1 }),
  normalize: refused(false, true),
  output_dimension: refused(4),
  padding: refused('max_length', 'do_not_pad'),
  priority: refused(1, 0),
  request_id: refused('x'),
  stream: refused(true, false),
  task: refused('query'),
  truncate: refused('END', 'NONE', false),
  truncate_prompt_tokens: refused(5),
  truncation_side: refused('left'),
  use_activation: refused(false, true),
};

const responseFields: Fates<keyof OpenAI.Responses.ResponseCreateParams> & Fates = {
  ...serverFields,
  access_programs: refused({ cyber: 'standard' }, {}),
  background: refused(true, false),
  background_options: refused({ completion_window: '2h' }, {}),
  context_management: refused([{ type: 'compaction' }], []),
  conversation: refused('conv_1'),
  'image.context_compression': refused('enabled', 'auto'),
  include: honoured(['message.output_text.logprobs']),
  input: honoured('other'),
  instructions: honoured('Be brief.'),
  max_output_tokens: honoured(5),
  max_tool_calls: refused(1),
  metadata: honoured({ a: 'b' }),
  model: honoured('other'),
  moderation: refused({ model: 'x' }),
  parallel_tool_calls: honoured(false, { tools: [{ type: 'function', name: 'f' }] }),
  previous_response_id: refused('resp_1'),
  prompt: refused({ id: 'x' }),
  prompt_cache_key: hint('x'),
  prompt_cache_options: hint({}),
  'prompt_cache_options.mode': refused('explicit', 'implicit'),
  prompt_cache_retention: refused('24h', 'in_memory'),
  reasoning: honoured({ effort: 'low' }),
  'reasoning.context': refused('all_turns', 'auto'),
  'reasoning.generate_summary': refused('auto'),
  'reasoning.mode': refused('pro', 'standard'),
  'reasoning.summary': refused('auto'),
  safety_identifier: hint('x'),
  service_tier: honoured('flex'),
  store: refused(true, false),
  stream: honoured(true),
  stream_options: hint({}),
  'stream_options.include_obfuscation': refused(true, false),
  temperature: honoured(0.5),
  text: honoured({ format: { type: 'json_object' } }),
  'text.verbosity': refused('low', 'medium'),
  tool_choice: honoured('required', { tools: [{ type: 'function', name: 'f' }] }),
  tools: honoured([{ type: 'function', name: 'f' }]),
  top_logprobs: honoured(2, { include: ['message.output_text.logprobs'] }),
  top_p: honoured(0.5),
  truncation: refused('auto', 'disabled'),
  user: hint('ann'),
  // Of vLLM, and what is of chats.
  chat_template: honoured('generic'),
  chat_template_kwargs: honoured({ a: 1 }),
  enable_response_messages: refused(true, false),
  enable_thinking: refused(true),
  function_call: refused({ name: 'f' }, 'auto'),
  functions: refused([{ name: 'f' }], []),
  logprobs: refused(true, false),
  max_completion_tokens: refused(5),
  max_tokens: refused(5),
  messages: refused([{ role: 'user', content: 'x' }]),
  modalities: refused(['text', 'audio'], ['text']),
  n: refused(2, 1),
  previous_input_messages: refused([{}]),
  previous_response: refused({}),
  reasoning_effort: refused('low'),
  response_format: refused({ type: 'json_object' }),
  thinking_budget: refused(100),
  verbosity: refused('low', 'medium'),
};

const ollamaOptions: Fates<keyof Options> & Fates = {
  embedding_only: refused(true, false),
  f16_kv: refused(false, true),
  frequency_penalty: honoured(1),
  logits_all: refused(true, false),
  low_vram: refused(true, false),
  main_gpu: refused(1, 0),
  min_p: honoured(0.1),
  mirostat: refused(1, 0),
  mirostat_eta: refused(0.2, 0.1),
  mirostat_tau: refused(3, 5),
  num_batch: refused(8, 512),
  num_ctx: honoured(1024),
  num_gpu: refused(99, -1),
  num_keep: refused(24, 4, 0, -1),
  num_predict: honoured(5),
  num_thread: refused(8, 0),
  numa: refused(true, false),
  penalize_newline: refused(false, true),
  presence_penalty: honoured(1),
  repeat_last_n: hint(32),
  repeat_penalty: honoured(1.1),
  seed: honoured(3),
  stop: honoured(['x']),
  temperature: honoured(0.5),
  tfs_z: refused(2, 1),
  top_k: honoured(5),
  top_p: honoured(0.5),
  typical_p: refused(0.5, 1),
  use_mlock: refused(true, false),
  use_mmap: refused(false, true),
  vocab_only: refused(true, false),
};

const ollamaFields = {
  format: honoured('json'),
  keep_alive: refused(0, -1, '5m', '24h0m0s', 1800),
  logprobs: refused(true, false),
  model: honoured('other'),
  options: hint({}),
  shift: refused(true, false),
  stream: honoured(false),
  think: honoured('low'),
  top_logprobs: refused(3, 0),
  truncate: refused(true, false),
};
const ollamaChatFields: Fates<keyof ChatRequest> & Fates = {
  ...ollamaFields,
  messages: honoured([{ role: 'user', content: 'x' }]),
  tools: honoured([tool]),
};
const ollamaGenerateFields: Fates<keyof GenerateRequest> & Fates = {
  ...ollamaFields,
  context: refused([1], []),
  height: refused(64),
  images: refused(['x'], []),
  prompt: honoured('other'),
  raw: honoured(true),
  steps: refused(3),
  suffix: refused('x', ''),
  system: honoured('Be brief.'),
  template: refused('{{ .Prompt }}', ''),
  width: refused(64),
};

interface Api {
  name: string;
  fates: Fates;
  read: (body: unknown) => unknown;
  /** The least that it takes. */
  body: object;
}

const messages = [{ role: 'user', content: 'Hello' }];
const inOptions = Object.fromEntries(Object.entries(ollamaOptions).map(([name, fate]) => [`options.${name}`, fate]));
const apis: Api[] = [
  { name: '/v1/chat/completions', fates: chatFields, read: readChatBody, body: { model: 'demo', messages } },
  {
    ...{ name: '/v1/completions', fates: completionFields, read: readCompletionBody },
    body: { model: 'demo', prompt: 'Hello' },
  },
  {
    ...{ name: '/v1/embeddings', fates: embeddingFields, read: readEmbeddingsBody },
    body: { model: 'demo', input: 'Hello' },
  },
  {
    ...{ name: '/v1/responses', fates: responseFields, read: readResponseBody },
    body: { model: 'demo', input: 'Hello' },
  },
  {
    ...{ name: '/api/chat', fates: { ...ollamaChatFields, ...inOptions }, read: readOllamaChat },
    body: { model: 'demo', messages },
  },
  {
    ...{ name: '/api/generate', fates: { ...ollamaGenerateFields, ...inOptions }, read: readOllamaGenerate },
    body: { model: 'demo', prompt: 'Hello' },
  },
];

/** The body with a field at a dotted path. */
function having(body: object, path: string, value: unknown): object {
  const [first = '', ...rest] = path.split('.');
  return { ...body, [first]: rest.length === 0 ? value : having({}, rest.join('.'), value) };
}

function refusal(read: Api['read'], body: object): GatewayError | null {
  try {
    read(body);
    return null;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

describe.each(apis)('$name', ({ fates, read, body }) => {
  it.each(Object.entries(fates))('%s', (path, fate) => {
    // What goes without it is not asked twice, and null asks for nothing.
    if (!(path in body)) expect(read(having(body, path, null))).toEqual(read(body));
    if (fate.kind === 'honoured') {
      const beside = { ...body, ...fate.beside };
      expect(read(having(beside, path, fate.value))).not.toEqual(read(beside));
    } else if (fate.kind === 'hint') {
      expect(read(having(body, path, fate.value))).toEqual(read(body));
    } else {
      const error = refusal(read, having(body, path, fate.value));
      expect(error?.status).toBe(400);
      expect(error?.param).toBe(path);
      expect(error?.message).toContain(path);
      const plain = path.includes('.') ? having(body, path, undefined) : body;
      for (const value of fate.harmless) expect(read(having(body, path, value))).toEqual(read(plain));
    }
  });
});

/** A hint, as the tables have it, only where nothing is penalised. */
describe('how far back repetition is penalised', () => {
  it('may be said where it is not', () => {
    const chat = { model: 'demo', messages };
    expect(readChatBody({ ...chat, repeat_last_n: 64, repeat_penalty: 1 })).toEqual(readChatBody(chat));
    const options = { repeat_last_n: 64, presence_penalty: 0 };
    expect(readOllamaChat({ ...chat, options })).toEqual(readOllamaChat(chat));
  });

  it('is refused with a number of tokens where it is', () => {
    const chat = { model: 'demo', messages };
    expect(() => readChatBody({ ...chat, repeat_last_n: 64, repeat_penalty: 1.1 })).toThrow(/^repeat_last_n is not/);
    const options = { repeat_last_n: 64, presence_penalty: 1 };
    expect(() => readOllamaChat({ ...chat, options })).toThrow(/^options\.repeat_last_n is not/);
  });
});

it('a completion, which has no instructions, refuses what is said of its JSON', () => {
  const json_schema = { name: 'a', description: 'The time.', schema };
  const body = { model: 'demo', prompt: 'Hello', response_format: { type: 'json_schema', json_schema } };
  const param = 'response_format.json_schema.description';
  expect(refusal(readCompletionBody, body)).toMatchObject({ status: 400, param });
});

describe('a tool of a response', () => {
  it.each([
    ['defer_loading', true, false],
    ['allowed_callers', ['programmatic'], ['direct']],
    ['output_schema', schema, null],
  ])('refuses %s', (field, value, harmless) => {
    const asked = (set: object) => ({ model: 'demo', input: 'x', tools: [{ type: 'function', name: 'f', ...set }] });
    const param = refusal(readResponseBody, asked({ [field]: value }))?.param;
    expect(param?.startsWith(`tools.0.${field}`)).toBe(true);
    expect(refusal(readResponseBody, asked({ [field]: harmless }))).toBeNull();
  });
});

describe('a prompt without a template', () => {
  it.each([
    ['system', 'Be brief.'],
    ['think', true],
  ])('refuses %s, which would be told by one', (field, value) => {
    const raw = { model: 'demo', prompt: 'Hello', raw: true };
    expect(refusal(readOllamaGenerate, { ...raw, [field]: value })).toMatchObject({ status: 400, param: field });
  });
});

it('draws a seed where an option of Ollama says -1', () => {
  expect(readOllamaChat({ model: 'demo', messages, options: { seed: -1 } }).settings.seed).toBe(null);
});
