import { beforeEach, expect, test } from 'vitest';
import type { ConversationHead, MemberApi } from '../../electron/gateway/memberApi.ts';
import { answerLine } from './answerLine.ts';
import { type Chat, createChat } from './createChat.ts';
import { chatAsMarkdown } from './exportChat.ts';
import type { ChatEvent, ChatRequest } from './streamChat.ts';
import { threadTo, versionsOf } from './thread.ts';

interface Saved {
  id: string;
  changes: object;
  messages: { id: string }[];
}

let asked: ChatRequest[];
let saved: Saved[];
let answers: (readonly ChatEvent[] | Error)[];
let clock: number;
let chat: Chat;
/** Until then nothing is on the disk. */
let written: Promise<unknown>;

/** Answers from a script; after it the stream waits for the abort. */
async function* scripted(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  asked.push(request);
  const answer = answers.shift();
  if (answer instanceof Error) throw answer;
  if (answer !== undefined) {
    yield* answer;
    return;
  }
  yield { kind: 'text', text: 'A hop' };
  await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

beforeEach(() => {
  asked = [];
  saved = [];
  answers = [];
  clock = 0;
  written = Promise.resolve();
  let ids = 0;
  const call = async (method: string, params: object): Promise<unknown> => {
    if (method === 'saveConversation') {
      saved.push(params as Saved);
      await written;
      const head: ConversationHead = { id: (params as Saved).id, title: 't', messages: 1, updatedAt: clock };
      return head;
    }
    return {};
  };
  chat = createChat({
    call: call as MemberApi['call'],
    stream: scripted,
    servedBy: () => ({ members: ['desk', 'lap'], acceptance: 0.75 }),
    now: () => {
      clock += 200;
      return clock;
    },
    newId: () => `id-${ids++}`,
    nextFrame: (callback) => callback(),
  });
});

const text = (content: string): ChatEvent => ({ kind: 'text', text: content });
const shown = () => chat.useChat.getState().shown;
const thread = () => threadTo(shown().history, shown().leaf);
const contents = () => thread().map(({ content }) => content);
const settled = () => new Promise((resolve) => setTimeout(resolve));

test('an answer arrives in pieces, with its pace and the members involved, and is kept', async () => {
  answers = [[text('A hop '), text('is one trip.'), { kind: 'usage', completionTokens: 5 }]];
  await chat.ask('demo', 'What is a hop?');
  expect(contents()).toEqual(['What is a hop?', 'A hop is one trip.']);
  const facts = thread()[1]?.answer;
  expect(facts && answerLine(facts)).toBe('5 tokens · 20.0 tokens per second · 75 % of drafts accepted · desk, lap');
  expect(saved.map(({ messages }) => messages.length)).toEqual([1, 1]);
  expect(saved[0]?.changes).toMatchObject({ title: 'What is a hop?' });
  expect(chatAsMarkdown(shown())).toContain('A hop is one trip.\n\n_5 tokens');
});

test('an answer is never out of sight, also where the disk is slower than the model', async () => {
  let write = (): void => {};
  written = new Promise<void>((resolve) => {
    write = resolve;
  });
  answers = [[text('A hop '), text('is one trip.')]];
  const done = chat.ask('demo', 'What is a hop?');
  await settled();
  expect(chat.useChat.getState().running?.text).toBe('A hop is one trip.');
  write();
  await done;
  expect(contents()).toEqual(['What is a hop?', 'A hop is one trip.']);
});

test('deleting a conversation ends its answer, and nothing more of it is kept', async () => {
  const asking = chat.ask('demo', 'What is a hop?');
  await settled();
  const { id } = shown();
  await chat.remove(id);
  await asking;
  expect(chat.useChat.getState()).toMatchObject({ running: null, problem: null, failure: null });
  expect(shown().id).not.toBe(id);
  expect(saved).toHaveLength(1);
});

test('the conversation so far and the settings go along', async () => {
  answers = [[text('1')], [text('2')]];
  await chat.changeSettings({ system: 'Be brief.', temperature: 0 });
  expect(saved).toEqual([]); // nothing is kept of a chat without a question
  await chat.ask('demo', 'one');
  await chat.ask('demo', 'two');
  expect(asked[1]?.messages.map(({ content }) => content)).toEqual(['one', '1', 'two']);
  expect(asked[1]?.settings).toMatchObject({ system: 'Be brief.', temperature: 0 });
  expect(saved[0]?.changes).toMatchObject({ settings: { system: 'Be brief.' } });
});

test('an answer tried again stands beside the old one, and either can be shown', async () => {
  answers = [[text('first')], [text('second')], [text('after')]];
  await chat.ask('demo', 'question');
  const [question, first] = thread();
  await chat.answer('demo', question?.id ?? '');
  expect(contents()).toEqual(['question', 'second']);
  await chat.showVersion(first?.id ?? '');
  expect(contents()).toEqual(['question', 'first']);
  await chat.ask('demo', 'more');
  expect(asked[2]?.messages.map(({ content }) => content)).toEqual(['question', 'first', 'more']);
});

test('an edited question begins a branch and keeps the old one', async () => {
  answers = [[text('1')], [text('2')]];
  await chat.ask('demo', 'one');
  const [first] = thread();
  if (first === undefined) throw new Error('no question');
  await chat.edit('demo', first, 'other');
  expect(contents()).toEqual(['other', '2']);
  expect(versionsOf(shown().history, first)).toHaveLength(2);
});

test('stop keeps what has arrived, and frees the chat for the next question', async () => {
  const running = chat.ask('demo', 'What is a hop?');
  await settled();
  expect(chat.useChat.getState().running).toMatchObject({ text: 'A hop' });
  await chat.ask('demo', 'a second at the same time');
  expect(asked).toHaveLength(1);
  chat.stop();
  await running;
  expect(thread()[1]).toMatchObject({ content: 'A hop', answer: { outcome: 'stopped' } });
  answers = [[text('x')]];
  await chat.ask('demo', 'next');
  expect(asked).toHaveLength(2);
});

test('a question that got no answer can be asked again, and nothing empty is kept', async () => {
  answers = [new Error('The queue is full.'), [text('now')]];
  await chat.ask('demo', 'question');
  const { failure } = chat.useChat.getState();
  expect(failure).toMatchObject({ problem: 'The queue is full.' });
  expect(saved).toHaveLength(1);
  await chat.answer('demo', failure?.question ?? '');
  expect(contents()).toEqual(['question', 'now']);
  expect(chat.useChat.getState().failure).toBeNull();
});

test('an answer stays with its conversation when another one is opened meanwhile', async () => {
  const running = chat.ask('demo', 'first');
  await settled();
  const { id } = shown();
  chat.startNew();
  chat.stop();
  await running;
  expect(shown().history).toEqual([]);
  expect(saved.at(-1)).toMatchObject({ id, messages: [{ content: 'A hop' }] });
});
