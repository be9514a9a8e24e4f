import { isDeepStrictEqual } from 'node:util';
import { invalidField } from '../gatewayError.ts';

/** Of llama-server, vLLM and OpenAI's streams, in chats and completions alike. */
const commonFields: Record<string, readonly unknown[]> = {
  bad_words: [[]],
  length_penalty: [1],
  logits_processors: [[]],
  lora: [[]],
  n_predict: [-1],
  n_probs: [0],
  penalty_alpha: [0],
  prompt_logprobs: [],
  repeat_last_n: [-1],
  samplers: [[], ''],
  skip_special_tokens: [true],
  top_n_sigma: [-1, 0],
  truncate_prompt_tokens: [],
  use_beam_search: [false],
  dry_multiplier: [0],
  dynatemp_range: [0],
  guided_choice: [],
  guided_grammar: [],
  guided_json: [],
  guided_regex: [],
  ignore_eos: [false],
  min_tokens: [0],
  mirostat: [0],
  'stream_options.continuous_usage_stats': [false],
  stop_token_ids: [[]],
  structured_outputs: [],
  typical_p: [1],
  xtc_probability: [0],
  'stream_options.include_obfuscation': [false],
};

/**
 * Fields of chat requests (of OpenAI, and of llama-server and vLLM as clients send them) that would change the answer and
 * are not served yet, each with the values that change nothing. Null changes nothing anywhere.
 *
 * `user`, `safety_identifier`, `metadata`, `prompt_cache_key` and `prompt_cache_retention` are in neither list: without accounts
 * and a store they have no bearing on an answer.
 */
const chatFields: Record<string, readonly unknown[]> = {
  audio: [],
  function_call: ['none', 'auto'],
  functions: [[]],
  modalities: [['text']],
  moderation: [],
  prediction: [],
  store: [false],
  verbosity: ['medium'],
  web_search_options: [],
  continue_final_message: [false],
  add_generation_prompt: [true],
  add_special_tokens: [false],
  best_of: [1],
  echo: [false],
  include_reasoning: [true],
  ...commonFields,
};

/** The same of legacy completions; `best_of` above 1 would need scores of whole answers. */
const completionFields: Record<string, readonly unknown[]> = {
  best_of: [1],
  suffix: [''],
  ...commonFields,
};

/** The same of the Responses API. What refers to something stored is among them, since nothing is. */
const responseFields: Record<string, readonly unknown[]> = {
  background: [false],
  context_management: [[]],
  conversation: [],
  max_tool_calls: [],
  moderation: [],
  previous_response_id: [],
  prompt: [],
  'reasoning.generate_summary': [],
  'reasoning.summary': [],
  'reasoning.encrypted_content': [],
  store: [false],
  'stream_options.include_obfuscation': [false],
  'text.verbosity': ['medium'],
  truncation: ['disabled'],
};

/** @throws GatewayError 400 that names the first field of a chat that is not served, with the values that are. */
export function refuseUnservedChatFields(body: object): void {
  refuseUnserved(body, chatFields);
}

/** See refuseUnservedChatFields. */
export function refuseUnservedCompletionFields(body: object): void {
  refuseUnserved(body, completionFields);
}

/** See refuseUnservedChatFields. */
export function refuseUnservedResponseFields(body: object): void {
  refuseUnserved(body, responseFields);
}

function refuseUnserved(body: object, fields: Record<string, readonly unknown[]>): void {
  for (const [path, harmless] of Object.entries(fields)) {
    const value = path
      .split('.')
      .reduce<unknown>((at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined), body);
    if (value === undefined || value === null || harmless.some((one) => isDeepStrictEqual(one, value))) continue;
    const only = harmless.map((one) => JSON.stringify(one)).join(' or ');
    const rest = only === '' ? 'leave it out' : `leave it out or send ${only}`;
    throw invalidField(path, `${path} is not supported yet with this value; ${rest}.`, 'unsupported_value');
  }
}
