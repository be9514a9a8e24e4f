import { isDeepStrictEqual } from 'node:util';
import { invalidField } from '../gatewayError.ts';

/** A field that is not served, by its dotted path, with the values of it that change nothing. Null changes nothing anywhere. */
type Refused = Readonly<Record<string, readonly unknown[]>>;

/** Ways to pick tokens that are not served, as llama-server and Ollama name them; what tunes one of them keeps its default. */
const pickingFields: Refused = {
  mirostat: [0],
  mirostat_eta: [0.1],
  mirostat_tau: [5],
  typical_p: [1],
};

/** Of llama-server (tools/server/server-schema.cpp), wherever it generates. */
const llamaFields: Refused = {
  ...pickingFields,
  adaptive_decay: [0.9],
  adaptive_target: [-1],
  backend_sampling: [false],
  cache_prompt: [true],
  chat_format: [],
  chat_parser: [],
  dry_allowed_length: [2],
  dry_base: [1.75],
  dry_multiplier: [0],
  dry_penalty_last_n: [-1, 0, 64],
  dry_sequence_breakers: [['\n', ':', '"', '*']],
  dynatemp_exponent: [1],
  dynatemp_range: [0],
  generation_prompt: [],
  grammar_lazy: [false],
  grammar_triggers: [[]],
  grammar_type: [],
  id_slot: [-1],
  ignore_eos: [false],
  image_data: [[]],
  input_extra: [[]],
  input_prefix: [''],
  input_suffix: [''],
  lora: [[]],
  min_keep: [0, 1],
  n_cache_reuse: [0],
  n_cmpl: [1],
  n_discard: [0],
  n_indent: [0],
  // The context is never shifted, so that all of a prompt is kept.
  n_keep: [-1, 0],
  n_predict: [-1],
  multimodal_data: [[]],
  n_probs: [0],
  parse_tool_calls: [true],
  penalty_last_n: [],
  post_sampling_probs: [false],
  preserved_tokens: [[]],
  reasoning_budget: [-1],
  reasoning_budget_end_tag: [],
  reasoning_budget_end_tags: [],
  reasoning_budget_message: [''],
  reasoning_budget_start_tag: [],
  reasoning_budget_tokens: [-1],
  reasoning_control: [false],
  reasoning_format: ['auto', 'deepseek'],
  repeat_last_n: [-1],
  response_fields: [[]],
  return_progress: [false],
  return_tokens: [false],
  samplers: [[], ''],
  sse_ping_interval: [30],
  t_max_predict_ms: [-1, 0],
  t_max_prompt_ms: [-1, 0],
  thinking_budget_tokens: [-1],
  thinking_forced_open: [false],
  timings_per_token: [false],
  top_n_sigma: [-1, 0],
  verbose: [false],
  xtc_probability: [0],
  xtc_threshold: [0.1],
};

/** Of vLLM (the protocol.py of its entry points), wherever it generates. */
const vllmFields: Refused = {
  allowed_token_ids: [],
  bad_words: [[]],
  cache_salt: [],
  guided_choice: [],
  guided_decoding_backend: [],
  guided_grammar: [],
  guided_json: [],
  guided_regex: [],
  guided_whitespace_pattern: [],
  include_stop_str_in_output: [false],
  kv_transfer_params: [],
  length_penalty: [1],
  logits_processors: [[]],
  max_repetition_pattern_size: [0],
  media_io_kwargs: [],
  min_repetition_pattern_size: [0],
  min_tokens: [0],
  mm_processor_kwargs: [],
  penalty_alpha: [0],
  priority: [0],
  prompt_embeds: [],
  prompt_logprobs: [],
  repetition_detection: [],
  repetition_min_count: [0],
  request_id: [],
  return_token_ids: [false],
  return_tokens_as_token_ids: [false],
  skip_special_tokens: [true],
  spaces_between_special_tokens: [true],
  stop_token_ids: [[]],
  'stream_options.continuous_usage_stats': [false],
  structural_tag: [],
  structured_outputs: [],
  truncate_prompt_tokens: [],
  truncation_side: [],
  use_beam_search: [false],
  vllm_xargs: [{}],
};

/** Of SGLang (its OpenAI protocol.py). */
const sglangFields: Refused = {
  custom_logit_processor: [],
  ebnf: [],
  lora_path: [],
  min_new_tokens: [0],
  no_stop_trim: [false],
  regex: [],
  return_hidden_states: [false],
  rid: [],
  separate_reasoning: [true],
  session_params: [],
  stop_regex: [],
  stream_reasoning: [true],
};

/** How long a cached prompt is kept is not promised; `prompt_cache_key` only hints at it. */
const cacheFields: Refused = {
  'prompt_cache_options.comparison_response_id': [],
  'prompt_cache_options.mode': ['implicit'],
  'prompt_cache_options.prewarm': [false],
  'prompt_cache_options.ttl': ['30m'],
  prompt_cache_retention: ['in_memory', 'in-memory'],
};

const answerFields: Refused = {
  ...llamaFields,
  ...vllmFields,
  ...sglangFields,
  ...cacheFields,
  'stream_options.include_obfuscation': [false],
};

/** Of OpenAI's chats, refused wherever a chat is answered. */
const spokenFields: Refused = {
  audio: [],
  function_call: ['none', 'auto'],
  functions: [[]],
  modalities: [['text']],
  moderation: [],
  prediction: [],
  store: [false],
  verbosity: ['medium'],
  web_search_options: [],
};

/** How several services say how much is to be thought, beside `reasoning_effort` and `chat_template_kwargs`. */
const thoughtFields: Refused = {
  enable_thinking: [],
  include_reasoning: [true],
  think: [],
  thinking: [],
  thinking_budget: [],
  thinking_token_budget: [],
};

/**
 * Fields of chat requests (of OpenAI, llama-server and vLLM as clients send them) that would change the answer and are not served.
 *
 * `user`, `safety_identifier`, `metadata` and `prompt_cache_key` are in neither list: without accounts and a store they have no
 * bearing on an answer.
 */
const chatFields: Refused = {
  ...answerFields,
  ...thoughtFields,
  ...spokenFields,
  add_generation_prompt: [true],
  add_special_tokens: [false],
  best_of: [1],
  continue_final_message: [false],
  documents: [[]],
  echo: [false],
  reasoning: [],
};

/** The same of legacy completions; `best_of` above 1 would need scores of whole answers. */
const completionFields: Refused = {
  ...answerFields,
  add_special_tokens: [true],
  best_of: [1],
  'response_format.json_schema.description': [''],
  suffix: [''],
};

/** The same of the Responses API. What refers to something stored is among them, since nothing is; and what only chats have. */
const responseFields: Refused = {
  ...answerFields,
  ...thoughtFields,
  ...spokenFields,
  access_programs: [{}],
  background: [false],
  background_options: [{}],
  context_management: [[]],
  conversation: [],
  enable_response_messages: [false],
  'image.context_compression': ['auto', 'disabled'],
  logprobs: [false],
  max_completion_tokens: [],
  max_tokens: [],
  max_tool_calls: [],
  messages: [],
  n: [1],
  previous_input_messages: [],
  previous_response: [],
  previous_response_id: [],
  prompt: [],
  'reasoning.context': ['auto'],
  'reasoning.encrypted_content': [],
  'reasoning.generate_summary': [],
  'reasoning.mode': ['standard'],
  'reasoning.summary': [],
  reasoning_effort: [],
  response_format: [],
  'text.verbosity': ['medium'],
  truncation: ['disabled'],
};

/** The same of embeddings: each text is embedded whole, of length 1, as f32 in little endian. */
const embeddingFields: Refused = {
  add_special_tokens: [true],
  cache_salt: [],
  content: [],
  embd_normalize: [2],
  embed_dtype: ['float32'],
  endianness: ['native', 'little'],
  input_type: [],
  messages: [],
  mm_processor_kwargs: [],
  normalize: [true],
  output_dimension: [],
  padding: ['do_not_pad'],
  priority: [0],
  request_id: [],
  stream: [false],
  task: [],
  truncate: [false, 'NONE'],
  truncate_prompt_tokens: [],
  truncation_side: [],
  use_activation: [true],
};

/** The same of Ollama; what loads a model is settled when it is served. */
const ollamaFields: Refused = {
  context: [[]],
  height: [],
  images: [[]],
  logprobs: [false],
  shift: [false],
  steps: [],
  suffix: [''],
  template: [''],
  top_logprobs: [0],
  truncate: [false],
  width: [],
  ...within('options', {
    ...pickingFields,
    embedding_only: [false],
    f16_kv: [true],
    logits_all: [false],
    low_vram: [false],
    main_gpu: [0],
    num_batch: [512],
    num_gpu: [-1],
    num_keep: [-1, 0, 4],
    num_thread: [0],
    numa: [false],
    penalize_newline: [true],
    repeat_last_n: [-1],
    tfs_z: [1],
    use_mlock: [false],
    use_mmap: [true],
    vocab_only: [false],
  }),
};

const refusedFields = {
  chat: chatFields,
  completions: completionFields,
  embeddings: embeddingFields,
  ollama: ollamaFields,
  responses: responseFields,
};

/**
 * @throws GatewayError 400 that names the first field of a request of this API that is not served, with the values that change
 * nothing.
 */
export function refuseUnserved(api: keyof typeof refusedFields, body: unknown): void {
  for (const [path, harmless] of Object.entries(refusedFields[api])) {
    const value = valueAt(body, path);
    if (value === undefined || value === null || harmless.some((one) => isDeepStrictEqual(one, value))) continue;
    if (path.endsWith('repeat_last_n') && repeatsFreely(valueAt(body, path.replace(/\.?repeat_last_n$/, '')))) continue;
    const only = harmless.map((one) => JSON.stringify(one)).join(' or ');
    const rest = only === '' ? 'leave it out' : `leave it out or send ${only}`;
    throw invalidField(path, `${path} is not supported yet with this value; ${rest}.`, 'unsupported_value');
  }
}

/** How far back repetition is penalised changes nothing where it is not. */
function repeatsFreely(picking: unknown): boolean {
  return Object.entries({ repeat_penalty: 1, repetition_penalty: 1, frequency_penalty: 0, presence_penalty: 0 }).every(
    ([field, none]) => (valueAt(picking, field) ?? none) === none,
  );
}

function within(parent: string, fields: Refused): Refused {
  return Object.fromEntries(Object.entries(fields).map(([path, harmless]) => [`${parent}.${path}`, harmless]));
}

/** An empty path is the body itself. */
function valueAt(body: unknown, path: string): unknown {
  if (path === '') return body;
  return path
    .split('.')
    .reduce<unknown>((at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined), body);
}
