import { describe, expect, it } from 'vitest';
import type { ServedModel } from '../pipeline/servedModel.ts';
import { type ChatMessage, renderChat } from './chatTemplate.ts';

function model(chatTemplate: string | null): ServedModel {
  return {
    id: 'demo',
    createdAt: 0,
    contextLength: 1,
    chatTemplate,
    bosText: '<s>',
    eosText: '</s>',
    pieces: { bytes: new Uint8Array(), offsets: new Uint32Array(1) },
    endTokens: new Set(),
    tokenize: async () => [],
    generate: async function* () {},
    embed: async () => new Float32Array(0),
  };
}

const tools: ChatMessage[] = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'Time?', name: 'Ann' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'now', arguments: '{"zone": "UTC"}' }] },
  { role: 'tool', content: '12:00', toolCallId: 'c1' },
];

describe('renderChat', () => {
  it('gives a template what Hugging Face gives it', () => {
    const template =
      '{{ bos_token }}{% if tools is not none %}never{% endif %}{% for m in messages %}[{{ m.role }}' +
      '{% if m.name is defined %} {{ m.name }}{% endif %}|{{ m.content }}' +
      '{% if m.tool_calls %}{% for c in m.tool_calls %}{{ c.id }} {{ c.function.name }} ' +
      '{{ c.function.arguments | tojson }}{% endfor %}{% endif %}' +
      '{% if m.tool_call_id is defined %} for {{ m.tool_call_id }}{% endif %}]{% endfor %}' +
      '{% if add_generation_prompt %}{{ eos_token }}>{% endif %}';
    expect(renderChat(model(template), tools).prompt).toBe(
      '<s>[system|Be brief.][user Ann|Time?][assistant|c1 now {"zone": "UTC"}][tool|12:00 for c1]</s>>',
    );
  });

  it('keeps the role developer where the template knows it', () => {
    const template = "{% for m in messages %}{{ m.role }},{% endfor %}{% if false %}'developer'{% endif %}";
    expect(renderChat(model(template), tools).prompt).toBe('developer,user,assistant,tool,');
  });

  it('leaves arguments that are no JSON object as they are', () => {
    const template = '{% for c in messages[0].tool_calls %}{{ c.function.arguments }}{% endfor %}';
    const call = { id: 'c1', name: 'now', arguments: 'zone=UTC' };
    const messages: ChatMessage[] = [{ role: 'assistant', content: '', toolCalls: [call] }];
    expect(renderChat(model(template), messages).prompt).toBe('zone=UTC');
  });

  it('has a generic template whose turns end the answer, for a model without one', () => {
    expect(renderChat(model(null), tools.slice(0, 2), 'chatml')).toEqual({
      prompt: '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nTime?<|im_end|>\n<|im_start|>assistant\n',
      stop: ['<|im_end|>', '<|im_start|>'],
    });
  });

  it.each([
    [null, 'chat_template_missing'],
    [' ', 'chat_template_missing'],
    ['{% if %}', 'chat_template_broken'],
    ['{{ messages[0].content | nothing }}', 'chat_template_refused'],
    ["{{ raise_exception('After the optional system message, roles must alternate') }}", 'chat_template_refused'],
  ])('says what is wrong with %j', (template, code) => {
    expect(() => renderChat(model(template), tools)).toThrow(expect.objectContaining({ status: 400, code }));
  });
});
