import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainSampling } from '../../pipeline/sampling/plainSampling.ts';
import { GatewayError } from '../gatewayError.ts';
import { plainChat } from '../template/renderChat.ts';
import { readChatBody } from './chatBody.ts';

const user = { role: 'user', content: 'Hello' };
const body = { model: 'demo', messages: [user] };

function refusal(input: unknown): { status: number; param: string | null; message: string } {
  try {
    readChatBody(input);
  } catch (error) {
    if (error instanceof GatewayError) return { status: error.status, param: error.param, message: error.message };
    throw error;
  }
  throw new Error(`Not refused: ${JSON.stringify(input)}`);
}

describe('readChatBody', () => {
  it('has the defaults of OpenAI', () => {
    expect(readChatBody(body)).toEqual({
      model: 'demo',
      choices: 1,
      chat: plainChat([{ role: 'user', content: 'Hello' }]),
      stream: false,
      includeUsage: false,
      tier: null,
      settings: { maxTokens: null, sampling: plainSampling, seed: null, stop: [], bulk: false },
    });
    const nulls = { max_tokens: null, temperature: null, top_p: null, seed: null, stop: null, stream: null, n: null };
    expect(readChatBody({ ...body, ...nulls, stream_options: null, tools: null })).toEqual(readChatBody(body));
  });

  it('reads every role and every form of content', () => {
    const messages = [
      { role: 'system', content: 'a' },
      { role: 'developer', content: [{ type: 'text', text: 'b' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'c ' },
          { type: 'text', text: 'd' },
        ],
        name: 'Ann',
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'x', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', content: 'e', tool_call_id: 'x' },
      { role: 'assistant', refusal: 'no', audio: null },
      { role: 'user', content: null },
    ];
    expect(readChatBody({ ...body, messages }).chat.messages).toEqual([
      { role: 'system', content: 'a' },
      { role: 'developer', content: 'b' },
      { role: 'user', content: 'c d', name: 'Ann' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'x', name: 'f', arguments: '{}' }] },
      { role: 'tool', content: 'e', toolCallId: 'x' },
      { role: 'assistant', content: 'no' },
      { role: 'user', content: '' },
    ]);
  });

  it.each([
    ['no object', null, null],
    ['a list', [], null],
    ['no model', { messages: [user] }, 'model'],
    ['a model that is a number', { ...body, model: 1 }, 'model'],
    ['no messages', { model: 'demo' }, 'messages'],
    ['a message that is text', { ...body, messages: ['Hello'] }, 'messages.0'],
    ['no role', { ...body, messages: [user, { content: 'x' }] }, 'messages.1.role'],
    ['the old role function', { ...body, messages: [{ role: 'function', content: 'x' }] }, 'messages.0.role'],
    ['no content', { ...body, messages: [{ role: 'user' }] }, 'messages.0.content'],
    ['content that is a number', { ...body, messages: [{ role: 'user', content: 1 }] }, 'messages.0.content'],
    [
      'an image',
      { ...body, messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      'messages.0.content.0.type',
    ],
    [
      'a part without text',
      { ...body, messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'messages.0.content.0.text',
    ],
    [
      'a tool message without its call',
      { ...body, messages: [{ role: 'tool', content: 'x' }] },
      'messages.0.tool_call_id',
    ],
    [
      'a call without a name',
      {
        ...body,
        messages: [{ role: 'assistant', tool_calls: [{ id: 'x', type: 'function', function: { arguments: '' } }] }],
      },
      'messages.0.tool_calls.0.function.name',
    ],
    ['spoken history', { ...body, messages: [{ role: 'assistant', audio: { id: 'x' } }] }, 'messages.0.audio'],
    ['max_tokens 1.5', { ...body, max_tokens: 1.5 }, 'max_tokens'],
    ['max_completion_tokens 0', { ...body, max_completion_tokens: 0 }, 'max_completion_tokens'],
    ['two lengths', { ...body, max_completion_tokens: 1, max_tokens: 2 }, 'max_tokens'],
    ['temperature as text', { ...body, temperature: '1' }, 'temperature'],
    ['temperature 2.1', { ...body, temperature: 2.1 }, 'temperature'],
    ['top_p 1.1', { ...body, top_p: 1.1 }, 'top_p'],
    ['a seed that JSON cannot hold', { ...body, seed: 2 ** 63 }, 'seed'],
    ['an empty stop string', { ...body, stop: ['a', ''] }, 'stop.1'],
    ['half a character as stop string', { ...body, stop: '\ud83d' }, 'stop'],
    ['too many stop strings', { ...body, stop: Array.from({ length: 33 }, () => 'a') }, 'stop'],
    ['stop as a number', { ...body, stop: 1 }, 'stop'],
    ['stream as text', { ...body, stream: 'yes' }, 'stream'],
    ['stream_options without stream', { ...body, stream_options: { include_usage: true } }, 'stream_options'],
    [
      'include_usage as a number',
      { ...body, stream: true, stream_options: { include_usage: 1 } },
      'stream_options.include_usage',
    ],
    [
      'obfuscation',
      { ...body, stream: true, stream_options: { include_obfuscation: true } },
      'stream_options.include_obfuscation',
    ],
    ['top_k -2', { ...body, top_k: -2 }, 'top_k'],
    ['min_p 1.5', { ...body, min_p: 1.5 }, 'min_p'],
    ['frequency_penalty 3', { ...body, frequency_penalty: 3 }, 'frequency_penalty'],
    ['repetition_penalty 0', { ...body, repetition_penalty: 0 }, 'repetition_penalty'],
    ['two penalties of repetition', { ...body, repetition_penalty: 1.1, repeat_penalty: 1.2 }, 'repeat_penalty'],
    ['a bias of text', { ...body, logit_bias: { hop: 1 } }, 'logit_bias.hop'],
    ['a bias of 101', { ...body, logit_bias: { 7: 101 } }, 'logit_bias.7'],
    ['top_logprobs without logprobs', { ...body, top_logprobs: 1 }, 'top_logprobs'],
    ['top_logprobs 21', { ...body, logprobs: true, top_logprobs: 21 }, 'top_logprobs'],
    ['a response format of its own', { ...body, response_format: { type: 'xml' } }, 'response_format.type'],
    [
      'a schema without a name',
      { ...body, response_format: { type: 'json_schema', json_schema: {} } },
      'response_format.json_schema.name',
    ],
    [
      'a pattern in a schema',
      { ...body, json_schema: { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } } },
      'json_schema',
    ],
    ['two grammars', { ...body, grammar: 'root ::= "a"', response_format: { type: 'json_object' } }, 'grammar'],
    [
      'arguments without names',
      { ...body, tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'array' } } }] },
      'tools.0.function.parameters.type',
    ],
    [
      'a stop string where a call must come',
      { ...body, stop: 'x', tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' },
      'stop',
    ],
    ['a template of its own', { ...body, chat_template: '{{ messages }}' }, 'chat_template'],
  ])('refuses %s by name', (_name, input, param) => {
    const { status, param: named, message } = refusal(input);
    expect(status).toBe(400);
    expect(named, message).toBe(param);
    if (param !== null) expect(message).toContain(param);
  });

  it.each([
    ['tool_choice', 'required'],
    ['functions', [{}]],
    ['modalities', ['text', 'audio']],
    ['store', true],
    ['service_tier', 'priority'],
    ['ignore_eos', true],
    ['use_beam_search', true],
    ['bad_words', ['a']],
    ['echo', true],
    ['best_of', 3],
    ['n_predict', 3],
    ['guided_regex', 'a+'],
    ['xtc_probability', 0.5],
  ])('refuses %s, which is not served yet', (field, value) => {
    expect(refusal({ ...body, [field]: value })).toMatchObject({ status: 400, param: field });
  });

  it('names the keyword of a schema that it cannot keep', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } };
    const { message } = refusal({
      ...body,
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    });
    expect(message).toContain('response_format.json_schema.schema.properties.a.pattern');
  });

  it('is told what a schema is said to be', () => {
    const asked = (said: object) =>
      readChatBody({ ...body, response_format: { type: 'json_schema', json_schema: { name: 'time', ...said } } });
    expect(asked({ description: 'As in Oslo.' }).chat.answerIs).toBe('The answer is the JSON of time: As in Oslo.');
    expect(asked({}).chat.answerIs).toBeNull();
  });

  it('takes the values of such fields that change nothing, hints, and what it does not know', () => {
    const harmless = {
      n: 1,
      tools: [],
      tool_choice: 'auto',
      response_format: { type: 'text' },
      logprobs: false,
      logit_bias: {},
      frequency_penalty: 0,
      modalities: ['text'],
      store: false,
      top_k: -1,
      user: 'ann',
      metadata: { a: 'b' },
      parallel_tool_calls: true,
      frobnicate: [1],
    };
    expect(readChatBody({ ...body, ...harmless })).toEqual(readChatBody(body));
  });

  it('reads or refuses any JSON, and throws nothing else', () => {
    const anyField = fc.constantFrom('model', 'messages', 'stop', 'seed', 'stream_options', 'tools', 'temperature');
    const input = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(anyField, fc.jsonValue()),
      fc.record({ model: fc.string(), messages: fc.array(fc.dictionary(fc.string(), fc.jsonValue())) }),
    );
    fc.assert(
      fc.property(input, (value) => {
        try {
          readChatBody(value);
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
