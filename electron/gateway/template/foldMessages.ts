import type { ChatMessage, ChatTool } from './chatMessage.ts';

/** Messages for a template that has no place for something. Each function returns new messages. */

/** Tools as part of the instructions, in the words of Hermes, which most models have seen. */
export function withToolInstruction(messages: readonly ChatMessage[], tools: readonly ChatTool[]): ChatMessage[] {
  const functions = tools.map(({ name, description, parameters }) =>
    JSON.stringify({
      type: 'function',
      function: { name, ...(description === undefined ? {} : { description }), parameters },
    }),
  );
  const instruction = [
    'You may call one or more functions to assist with the user query.',
    `The functions are given as JSON within <tools></tools>:\n<tools>\n${functions.join('\n')}\n</tools>`,
    'To call a function, answer with its name and arguments as JSON within <tool_call></tool_call>:',
    '<tool_call>\n{"name": "the name", "arguments": {"an argument": "its value"}}\n</tool_call>',
  ].join('\n\n');
  return withInstruction(messages, instruction);
}

/** Behind the first instructions where there are any, else before all. */
export function withInstruction(messages: readonly ChatMessage[], instruction: string): ChatMessage[] {
  const [first, ...rest] = messages;
  if (first !== undefined && isSystem(first)) {
    const content = first.content === '' ? instruction : `${first.content}\n\n${instruction}`;
    return [{ ...first, content }, ...rest];
  }
  return [{ role: 'system', content: instruction }, ...messages];
}

/** Earlier calls as text of the assistant, their results as text of the user. */
export function withCallsAsText(messages: readonly ChatMessage[]): ChatMessage[] {
  const folded = messages.map((message): ChatMessage => {
    if (message.role === 'tool') {
      return { role: 'user', content: `<tool_response>\n${message.content}\n</tool_response>` };
    }
    const { toolCalls, ...rest } = message;
    if (toolCalls === undefined) return message;
    const calls = toolCalls.map(
      ({ name, arguments: text }) =>
        `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${text}}\n</tool_call>`,
    );
    return { ...rest, content: [message.content, ...calls].filter((part) => part !== '').join('\n') };
  });
  const merged: ChatMessage[] = [];
  for (const [index, message] of folded.entries()) {
    const last = merged.at(-1);
    // Results of one turn, as Hermes has them in one message.
    if (last !== undefined && messages[index]?.role === 'tool' && messages[index - 1]?.role === 'tool') {
      merged[merged.length - 1] = { ...last, content: `${last.content}\n${message.content}` };
    } else merged.push(message);
  }
  return merged;
}

/** Whether it says who speaks; a result is told by the call that it answers. */
export function isNamed({ role, name }: ChatMessage): boolean {
  return name !== undefined && role !== 'tool';
}

export function withoutName({ name: _name, ...message }: ChatMessage): ChatMessage {
  return message;
}

/** Who speaks as the beginning of the text. */
export function withNameAsText(message: ChatMessage): ChatMessage {
  if (!isNamed(message) || message.content === '') return message;
  return { ...withoutName(message), content: `${message.name}: ${message.content}` };
}

/** Messages of one role in a row as one message, but for calls and their results. */
export function withTurnsMerged(messages: readonly ChatMessage[]): ChatMessage[] {
  const merged: ChatMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    const isPlain = (one: ChatMessage): boolean => one.role !== 'tool' && one.toolCalls === undefined;
    if (last !== undefined && last.role === message.role && isPlain(last) && isPlain(message)) {
      const [one, other] =
        last.name === message.name ? [last, message] : [withNameAsText(last), withNameAsText(message)];
      const content = [one.content, other.content].filter((part) => part !== '').join('\n\n');
      merged[merged.length - 1] = { ...one, content };
    } else merged.push(message);
  }
  return merged;
}

/** Instructions as the beginning of the user's next message. */
export function withSystemFolded(messages: readonly ChatMessage[]): ChatMessage[] {
  const folded: ChatMessage[] = [];
  let waiting: string[] = [];
  for (const message of messages) {
    if (isSystem(message)) {
      if (message.content !== '') waiting.push(message.content);
      continue;
    }
    if (waiting.length === 0) folded.push(message);
    else if (message.role === 'user') folded.push({ ...message, content: [...waiting, message.content].join('\n\n') });
    else folded.push({ role: 'user', content: waiting.join('\n\n') }, message);
    waiting = [];
  }
  return waiting.length === 0 ? folded : [...folded, { role: 'user', content: waiting.join('\n\n') }];
}

function isSystem({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}
