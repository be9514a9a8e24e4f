import { beforeEach, expect, test } from 'vitest';
import { answerLine } from './answerLine.ts';
import { ask, bringBack, retry, startOver, stop, useChat } from './chatStore.ts';
import type { ChatEvent, ChatMessage } from './streamChat.ts';

beforeEach(() => useChat.setState({ turns: [], putAway: [] }));

/** A stream of the test's making that notes what it was asked. */
function scripted(events: readonly ChatEvent[], failure: Error | null = null) {
  const asked: { model: string; messages: readonly ChatMessage[] }[] = [];
  async function* stream(model: string, messages: readonly ChatMessage[]) {
    asked.push({ model, messages });
    yield* events;
    if (failure !== null) throw failure;
  }
  return { stream, asked };
}

/** Answers with one piece and then waits for the abort. */
async function* hanging(_model: string, _messages: readonly ChatMessage[], signal: AbortSignal) {
  yield { kind: 'text', text: 'A hop' } as const;
  await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

const lastTurn = () => useChat.getState().turns.at(-1);
const settled = () => new Promise((resolve) => setTimeout(resolve));

test('an answer arrives in pieces and ends with its pace', async () => {
  let clock = 0;
  const { stream } = scripted([
    { kind: 'text', text: 'A hop ' },
    { kind: 'text', text: 'is one trip.' },
    { kind: 'usage', completionTokens: 5 },
  ]);
  await ask('demo', 'What is a hop?', {
    stream,
    now: () => {
      clock += 200;
      return clock;
    },
  });
  expect(lastTurn()).toMatchObject({ answer: 'A hop is one trip.', state: 'done', tokens: 5, milliseconds: 200 });
  const turn = lastTurn();
  expect(turn && answerLine(turn)).toBe('5 tokens · 20.0 tokens per second');
});

test('the conversation so far goes along, without turns that have no answer', async () => {
  await ask('demo', 'one', scripted([{ kind: 'text', text: '1' }]));
  await ask('demo', 'two', scripted([], new Error('Busy.')));
  const third = scripted([]);
  await ask('demo', 'three', third);
  expect(third.asked[0]).toEqual({
    model: 'demo',
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: '1' },
      { role: 'user', content: 'three' },
    ],
  });
});

test('stop keeps what has arrived', async () => {
  const asking = ask('demo', 'What is a hop?', { stream: hanging });
  await settled();
  await ask('demo', 'not while the first runs', scripted([]));
  stop();
  await asking;
  expect(useChat.getState().turns).toHaveLength(1);
  expect(lastTurn()).toMatchObject({ answer: 'A hop', state: 'stopped', problem: null });
});

test('a failure shows its line and can be asked again', async () => {
  await ask('demo', 'Hello?', scripted([{ kind: 'text', text: 'He' }], new Error('A stage was lost.')));
  expect(lastTurn()).toMatchObject({ state: 'failed', problem: 'A stage was lost.', answer: 'He' });
  await retry('demo', scripted([{ kind: 'text', text: 'Hello.' }]));
  expect(useChat.getState().turns).toHaveLength(1);
  expect(lastTurn()).toMatchObject({ question: 'Hello?', state: 'done', answer: 'Hello.' });
});

test('a new chat stops the answer under way and can be undone', async () => {
  const asking = ask('demo', 'What is a hop?', { stream: hanging });
  await settled();
  startOver();
  await asking;
  expect(useChat.getState().turns).toEqual([]);
  bringBack();
  expect(lastTurn()).toMatchObject({ answer: 'A hop', state: 'stopped' });
});

test('the line under an answer says only what is known', () => {
  const turn = { id: 1, question: '', answer: 'x', problem: null, milliseconds: null } as const;
  expect(answerLine({ ...turn, state: 'streaming', tokens: 3 })).toBeNull();
  expect(answerLine({ ...turn, state: 'done', tokens: null })).toBeNull();
  expect(answerLine({ ...turn, state: 'done', tokens: 1 })).toBe('1 token');
  expect(answerLine({ ...turn, state: 'done', tokens: 2, milliseconds: 0 })).toBe('2 tokens');
  expect(answerLine({ ...turn, state: 'stopped', tokens: null })).toBe('Stopped');
});
