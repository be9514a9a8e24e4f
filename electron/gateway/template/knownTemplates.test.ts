import { afterAll, describe, expect, it } from 'vitest';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { nodeLauncher } from '../../stage/nodeLauncher.ts';
import type { ChatMessage, ChatTool } from './chatMessage.ts';
import { type Chat, plainChat, renderChat } from './renderChat.ts';
import { TemplateRenderer } from './templateRenderer.ts';
import { templateModel } from './testing/templateModel.ts';

/** What well-known models' templates do with roles, tools, calls and results, in as few words as do it in the same way. */

const qwen = `{%- if tools %}
{{- '<|im_start|>system\\n' }}{%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] }}{%- endif %}
{{- "\\n<tools>" }}{%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
{{- "\\n</tools>\\nreturn it within <tool_call></tool_call>:\\n<tool_call>\\n{\\"name\\": <function-name>}\\n</tool_call><|im_end|>\\n" }}
{%- elif messages[0]['role'] == 'system' %}{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
{%- elif message.role == "assistant" %}{{- '<|im_start|>' + message.role }}
{%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
{%- for tool_call in message.tool_calls %}{%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}
{{- '\\n<tool_call>\\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}{{- tool_call.arguments | tojson }}{{- '}\\n</tool_call>' }}
{%- endfor %}{{- '<|im_end|>\\n' }}
{%- elif message.role == "tool" %}
{%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\\n<tool_response>\\n' }}{{- message.content }}{{- '\\n</tool_response>' }}
{%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

const mistral = `{%- if messages[0]["role"] == "system" %}{%- set system_message = messages[0]["content"] %}{%- set loop_messages = messages[1:] %}
{%- else %}{%- set loop_messages = messages %}{%- endif %}{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}{%- set ns.index = 0 %}
{%- for message in loop_messages %}{%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
{%- if (message["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("conversation roles must alternate user/assistant/user/assistant/...") }}{%- endif %}
{%- set ns.index = ns.index + 1 %}{%- endif %}{%- endfor %}{{- bos_token }}
{%- for message in loop_messages %}{%- if message["role"] == "user" %}
{%- if tools is not none and (message == user_messages[-1]) %}{{- "[AVAILABLE_TOOLS][" }}{%- for tool in tools %}{{- tool | tojson }}{%- if not loop.last %}{{- ", " }}{%- endif %}{%- endfor %}{{- "][/AVAILABLE_TOOLS]" }}{%- endif %}
{%- if loop.last and system_message is defined %}{{- "[INST]" + system_message + "\\n\\n" + message["content"] + "[/INST]" }}{%- else %}{{- "[INST]" + message["content"] + "[/INST]" }}{%- endif %}
{%- elif (message.tool_calls is defined and message.tool_calls is not none) %}{{- "[TOOL_CALLS][" }}
{%- for tool_call in message.tool_calls %}{%- set out = tool_call.function|tojson %}{{- out[:-1] }}
{%- if not tool_call.id is defined or tool_call.id|length != 9 %}{{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}{%- endif %}
{{- ', "id": "' + tool_call.id + '"}' }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}{%- endfor %}
{%- elif message["role"] == "assistant" %}{{- message["content"] + eos_token}}
{%- elif message["role"] == "tool_results" or message["role"] == "tool" %}{{- '[TOOL_RESULTS]{"content": ' + message.content|string + ", " }}
{%- if not message.tool_call_id is defined or message.tool_call_id|length != 9 %}{{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}{%- endif %}
{{- '"call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}{%- endif %}{%- endfor %}`;

const llama3 = `{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content']|trim %}{%- set messages = messages[1:] %}{%- else %}{%- set system_message = "" %}{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}{%- if tools is not none %}{{- "Environment: ipython\\n" }}{%- endif %}{{- system_message }}{{- "<|eot_id|>" }}
{%- if not tools is none %}{%- if messages | length != 0 %}{%- set first_user_message = messages[0]['content']|trim %}{%- set messages = messages[1:] %}{%- else %}{{- raise_exception("no first user message") }}{%- endif %}
{{- '<|start_header_id|>user<|end_header_id|>\\n\\n' }}{{- 'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.\\n' }}
{%- for t in tools %}{{- t | tojson(indent=4) }}{{- "\\n\\n" }}{%- endfor %}{{- first_user_message + "<|eot_id|>"}}{%- endif %}
{%- for message in messages %}{%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
{%- elif 'tool_calls' in message %}{%- if not message.tool_calls|length == 1 %}{{- raise_exception("This model only supports single tool-calls at once!") }}{%- endif %}
{%- set tool_call = message.tool_calls[0].function %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
{{- '{"name": "' + tool_call.name + '", ' }}{{- '"parameters": ' }}{{- tool_call.arguments | tojson }}{{- "}" }}{{- "<|eot_id|>" }}
{%- elif message.role == "tool" or message.role == "ipython" %}{{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
{%- if message.content is mapping or message.content is iterable %}{{- message.content | tojson }}{%- else %}{{- message.content }}{%- endif %}{{- "<|eot_id|>" }}{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}`;

/** Hermes has this one beside its own, for tools. */
const hermesTools = `{%- macro python_type(spec) %}{%- set known = {"string": "str", "integer": "int"} %}
{%- if known[spec.type] is defined %}{{- known[spec.type] }}{%- elif spec.type == "array" %}{{- "list[" + python_type(spec|items) + "]" }}
{%- elif spec.type is iterable %}{{- "Union[" }}{%- for t in spec.type %}{{- python_type({"type": t}) }}{%- if not loop.last %}{{- "," }}{%- endif %}{%- endfor %}{{- "]" }}
{%- else %}{{- "Any" }}{%- endif %}{%- endmacro %}
{{- bos_token }}{{- "<|im_start|>system\n<tools> " }}
{%- for tool in tools %}{%- if tool.function is defined %}{%- set tool = tool.function %}{%- endif %}{{- tool.name + "(" }}
{%- for name, spec in tool.parameters.properties|items %}{{- name + ": " + python_type(spec) + " " + spec.description|trim }}{%- if not loop.last %}{{- ", " }}{%- endif %}{%- endfor %}
{{- ") " }}{%- if tool.parameters.properties | length == 0 %}{{- "{}" }}{%- else %}{{- tool.parameters|tojson }}{%- endif %}{%- endfor %}{{- " </tools><tool_call>" }}
{%- for message in messages %}{%- if message.role == "tool" %}{%- if loop.previtem and loop.previtem.role != "tool" %}{{- "<|im_start|>tool\n" }}{%- endif %}
{{- "<tool_response>" + message.content }}{%- if not loop.last and loop.nextitem.role != "tool" %}{{- "<|im_end|>" }}{%- elif loop.last %}{{- "<|im_end|>" }}{%- endif %}
{%- elif message.tool_calls is defined %}{%- for call in message.tool_calls %}{{- call.function.arguments|tojson }}{%- endfor %}{%- else %}{{- message.role + "|" + message.content }}{%- endif %}{%- endfor %}`;

const firefunction = `{%- set suffix -%}{%- filter trim -%} Write functools[{"name": [function name]}, ...] {%- endfilter -%}{%- endset -%}
{%- set suffix = suffix + "\n" + functions + "\nToday is " + datetime + "." -%}{%- set ns = namespace(content='') -%}
{%- for message in messages -%}{%- set text = message['content'] | default('', true) | trim -%}
{%- if loop.index0 == 0 -%}{{- bos_token + 'system|' + (text if message['role'] == 'system' else '') + suffix -}}{%- endif -%}
{%- if loop.index0 > 0 or message['role'] != 'system' -%}{%- set ns.content = message['role'] + '|' + text -%}
{%- if 'tool_calls' in message and message['tool_calls'] -%}{%- set tool = namespace(calls=[]) -%}
{%- for call in message['tool_calls'] -%}{%- set tool.calls = tool.calls + ['{"name": "' + call['function']['name'] + '", "arguments": ' + call['function']['arguments'] + '}'] -%}{%- endfor -%}
{%- set ns.content = ns.content + ' functools[' + tool.calls | join(', ') + ']' -%}{%- endif -%}{{- ns.content + '<|eot_id|>' -}}{%- endif -%}{%- endfor -%}{{- 'assistant|' -}}`;

const hy3 = `{%- set HYTK = ':opensource' %}{%- set user_token = '<User{}>'.format(HYTK) %}{%- set assistant_token = '<Assistant{}>'.format(HYTK) %}
{%- set think = '<think{}>'.format(HYTK) %}{%- set thought = '</think{}>'.format(HYTK) %}
{%- if not reasoning_effort is defined %}{%- set reasoning_effort = 'no_think' %}{%- elif reasoning_effort not in ['high', 'low', 'no_think'] %}
{{- raise_exception('reasoning_effort error : ' + reasoning_effort) }}{%- endif %}
{%- macro visible(content) -%}{%- if content is string -%}{{- content }}{%- elif content is iterable and content is not mapping -%}{%- for item in content -%}{{- item.text }}{%- endfor -%}{%- else -%}{{- content }}{%- endif -%}{%- endmacro -%}
{%- for message in messages %}{%- if message['role'] == 'assistant' %}{{- assistant_token + think + thought + visible(message['content']) }}
{%- elif message['role'] == 'user' %}{{- user_token + visible(message['content']) }}{%- else %}{{- visible(message['content']) }}{%- endif %}{%- endfor %}
{{- assistant_token + think }}{%- if reasoning_effort == 'no_think' %}{{- thought }}{%- endif %}`;

/** Of those that are made for tools alone. */
const onlyTools =
  "{% for tool in tools %}{{ tool | tojson }}{% endfor %}<tool_call>{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}";

const templates = new TemplateRenderer(nodeLauncher);
afterAll(() => templates.close());

const tools: ChatTool[] = [
  { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } }, strict: false },
  { name: 'clock', parameters: { type: 'object' }, strict: false },
];
const brief: ChatMessage = { role: 'system', content: 'Be brief.' };
const user: ChatMessage = { role: 'user', content: 'Weather?' };
const call = (id: string, name: string, text: string) => ({ id, name, arguments: text });
const result = (id: string, content: string): ChatMessage => ({ role: 'tool', content, toolCallId: id });
const turn: ChatMessage[] = [
  brief,
  user,
  { role: 'assistant', content: '', toolCalls: [call('call_abcdef', 'weather', '{"city":"Oslo"}')] },
  result('call_abcdef', 'Rain'),
];

async function prompt(
  chatTemplate: string,
  messages: readonly ChatMessage[],
  chat: Partial<Chat> & Pick<ServedModel, 'toolTemplate'> = {},
) {
  const { toolTemplate = null } = chat;
  const model = templateModel(chatTemplate, { toolTemplate });
  const rendered = await renderChat(model, { ...plainChat(messages), ...chat }, templates);
  return { text: rendered.prompt.map(({ text }) => text).join(''), shape: rendered.shape };
}

describe('the template of', () => {
  it('Qwen gets instructions, tools, calls and all results of a turn where it has them', async () => {
    const two = { ...user, role: 'assistant', content: '' } as const;
    const toolCalls = [call('a', 'weather', '{"city":"Oslo"}'), call('b', 'clock', '{}')];
    const messages = [brief, user, { ...two, toolCalls }, result('a', 'Rain'), result('b', '12:00')];
    const { text, shape } = await prompt(qwen, messages, { tools });
    expect(shape.calls?.format.name).toBe('hermes');
    expect(text).toMatch(
      /^<\|im_start\|>system\nBe brief\.\n<tools>\n\{"type": "function", "function": \{"name": "weather"/,
    );
    expect(
      text.endsWith(
        '<|im_start|>assistant\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n' +
          '<tool_call>\n{"name": "clock", "arguments": {}}\n</tool_call><|im_end|>\n' +
          '<|im_start|>user\n<tool_response>\nRain\n</tool_response>\n<tool_response>\n12:00\n</tool_response><|im_end|>\n' +
          '<|im_start|>assistant\n',
      ),
    ).toBe(true);
    const must = await prompt(qwen, [user], { tools, mustCall: true });
    expect(must.text.endsWith('<|im_start|>assistant\n<tool_call>\n{"name": "')).toBe(true);
  });

  it('Mistral gets ids of the length that it wants, and turns of one role as one', async () => {
    const { text, shape } = await prompt(mistral, turn, { tools });
    expect(shape.calls?.format.name).toBe('mistral-list');
    const [, id = ''] = /"id": "([0-9a-zA-Z]{9})"\}\]<\/s>/.exec(text) ?? [];
    expect(text).toContain(`[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Oslo"}, "id": "${id}"}]</s>`);
    expect(text.endsWith(`[TOOL_RESULTS]{"content": Rain, "call_id": "${id}"}[/TOOL_RESULTS]`)).toBe(true);
    expect((await prompt(mistral, [brief, user, user])).text).toBe('<s>[INST]Be brief.\n\nWeather?\n\nWeather?[/INST]');
    await expect(prompt(mistral, [{ role: 'assistant', content: 'Hm.' }, user])).rejects.toThrow(
      /must alternate.*"chat_template": "generic"/,
    );
  });

  it('Llama 3 gets tools with the first question, one call a turn and results of ipython', async () => {
    const { text, shape } = await prompt(llama3, turn, { tools });
    expect(shape.calls).toMatchObject({ format: { name: 'llama3' }, parallel: false });
    expect(text).toContain('Environment: ipython\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>');
    expect(
      text.endsWith(
        'Weather?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n{"name": "weather", "parameters": {"city": "Oslo"}}<|eot_id|>' +
          '<|start_header_id|>ipython<|end_header_id|>\n\n"Rain"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
      ),
    ).toBe(true);
    expect((await prompt(llama3, [brief, user])).text).not.toContain('ipython');
    const must = await prompt(llama3, [user], { tools, mustCall: true });
    expect(must.text.endsWith('<|end_header_id|>\n\n{"name": "')).toBe(true);
  });

  it('Hermes is its other one where there are tools, with odd schemas too', async () => {
    const properties = {
      city: { type: 'string', description: 'A city.' },
      tags: { type: 'array' },
      any: {},
      either: { type: ['string', 'integer'] },
    };
    const odd: ChatTool[] = [{ name: 'weather', parameters: { type: 'object', properties }, strict: false }];
    const { text, shape } = await prompt(qwen, turn, { tools: odd, toolTemplate: hermesTools });
    expect(shape.calls?.format.name).toBe('hermes');
    // As Jinja itself has it: of the items of a list it is told nothing.
    expect(text).toMatch(
      /^<s><\|im_start\|>system\n<tools> weather\(city: str A city\., tags: list\[Union\[\]\] , any: Union\[\] , either: Union\[str,int\] \) \{"type"/,
    );
    expect(text.endsWith('Weather?{"city": "Oslo"}<|im_start|>tool\n<tool_response>Rain<|im_end|>')).toBe(true);
    expect((await prompt(qwen, [user], { tools, toolTemplate: hermesTools })).text).toContain('clock() {}');
    expect((await prompt(qwen, [user], { toolTemplate: hermesTools })).text).toMatch(/^<\|im_start\|>user/);
  });

  it('Firefunction gets functions as text, the time, and calls in its list', async () => {
    const { text, shape } = await prompt(firefunction, turn, { tools });
    expect(shape.calls?.format.name).toBe('functools');
    expect(text).toContain('Write functools[{"name": [function name]}, ...]\n[\n  {\n    "type": "function",');
    expect(text).toMatch(/\]\nToday is \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT\.user\|Weather\?/);
    expect(text).toContain(
      'assistant| functools[{"name": "weather", "arguments": {"city":"Oslo"}}]<|eot_id|>tool|Rain',
    );
    expect((await prompt(firefunction, [user])).text).toMatch(/\.\.\.\]\n\nToday is /);
    const must = await prompt(firefunction, [user], { tools, mustCall: true });
    expect(must.text.endsWith('assistant| functools[{"name": "')).toBe(true);
  });

  it('Hy3 thinks as much as it is asked to, between marks of its own', async () => {
    const turns: ChatMessage[] = [brief, user, { role: 'assistant', content: 'Rain.' }, user];
    const { text, shape } = await prompt(hy3, turns);
    expect(text).toBe(
      'Be brief.<User:opensource>Weather?<Assistant:opensource><think:opensource></think:opensource>Rain.' +
        '<User:opensource>Weather?<Assistant:opensource><think:opensource></think:opensource>',
    );
    expect(shape.thinking).toMatchObject({ begun: false });
    const high = await prompt(hy3, [user], { effort: 'high' });
    expect(high.text.endsWith('<Assistant:opensource><think:opensource>')).toBe(true);
    expect(high.shape.thinking).toMatchObject({ begun: true, close: '</think:opensource>' });
    expect((await prompt(hy3, [user], { effort: 'any' })).text).toBe(high.text);
    expect((await prompt(hy3, [user], { effort: 'none' })).text.endsWith('</think:opensource>')).toBe(true);
    // It knows high and low alone: what lies between thinks more rather than less.
    expect((await prompt(hy3, [user], { effort: 'medium' })).text).toBe(high.text);
    expect((await prompt(hy3, [user], { effort: 'max' })).text).toBe(high.text);
    const low = await prompt(hy3, [user], { effort: 'low' });
    expect((await prompt(hy3, [user], { effort: 'minimal' })).text).toBe(low.text);
  });

  it('a model made for tools does without them', async () => {
    expect((await prompt(onlyTools, [user])).text).toBe('<tool_call>user: Weather?\n');
    expect((await prompt(onlyTools, [user], { tools })).text).toContain('"weather"');
  });
});
