import { create } from 'zustand';
import { type ChatEvent, type ChatMessage, streamChat } from './streamChat.ts';

export interface Turn {
  id: number;
  question: string;
  answer: string;
  state: 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed';
  /** The reason of a failed turn, for people. */
  problem: string | null;
  /** Tokens of the answer, once known. */
  tokens: number | null;
  /** Between the first and the last piece of text, once both are there. */
  milliseconds: number | null;
}

interface ChatStore {
  turns: readonly Turn[];
  /** What `startOver` put away, until the next question. */
  putAway: readonly Turn[];
}

export const useChat = create<ChatStore>()(() => ({ turns: [], putAway: [] }));

let underWay: AbortController | null = null;
let nextId = 1;

/** Where answers come from and what time it is; tests bring their own. */
export interface AskOptions {
  stream?: (...args: Parameters<typeof streamChat>) => AsyncIterable<ChatEvent>;
  /** Milliseconds. */
  now?: () => number;
}

/** Asks the model, with the whole conversation before it, and streams the answer into the store. */
export async function ask(
  model: string,
  question: string,
  { stream = streamChat, now = () => performance.now() }: AskOptions = {},
): Promise<void> {
  if (underWay !== null) return;
  const abort = new AbortController();
  underWay = abort;
  const id = nextId++;
  const messages = messagesOf(useChat.getState().turns, question);
  useChat.setState(({ turns }) => ({ turns: [...turns, newTurn(id, question)], putAway: [] }));
  let firstAt: number | null = null;
  try {
    for await (const event of stream(model, messages, abort.signal)) {
      if (event.kind === 'usage') {
        patch(id, () => ({ tokens: event.completionTokens }));
        continue;
      }
      const at = now();
      firstAt ??= at;
      const milliseconds = at - firstAt;
      patch(id, (turn) => ({ answer: turn.answer + event.text, state: 'streaming', milliseconds }));
    }
    patch(id, () => ({ state: 'done' }));
  } catch (error) {
    if (abort.signal.aborted) patch(id, () => ({ state: 'stopped' }));
    else patch(id, () => ({ state: 'failed', problem: error instanceof Error ? error.message : String(error) }));
  } finally {
    underWay = null;
  }
}

/** Ends the answer under way; what has arrived of it stays. */
export function stop(): void {
  underWay?.abort();
}

/** Asks the last question anew, in place of its failed answer. */
export async function retry(model: string, options?: AskOptions): Promise<void> {
  const last = useChat.getState().turns.at(-1);
  if (last === undefined || underWay !== null) return;
  useChat.setState(({ turns }) => ({ turns: turns.slice(0, -1) }));
  await ask(model, last.question, options);
}

/** Begins a new conversation; `bringBack` undoes it. */
export function startOver(): void {
  stop();
  useChat.setState(({ turns }) => ({ turns: [], putAway: turns }));
}

export function bringBack(): void {
  useChat.setState(({ putAway }) => ({ turns: putAway, putAway: [] }));
}

function newTurn(id: number, question: string): Turn {
  return { id, question, answer: '', state: 'waiting', problem: null, tokens: null, milliseconds: null };
}

function patch(id: number, change: (turn: Turn) => Partial<Turn>): void {
  const apply = (turns: readonly Turn[]) => turns.map((turn) => (turn.id === id ? { ...turn, ...change(turn) } : turn));
  useChat.setState(({ turns, putAway }) => ({ turns: apply(turns), putAway: apply(putAway) }));
}

function messagesOf(turns: readonly Turn[], question: string): ChatMessage[] {
  const before = turns
    .filter((turn) => turn.answer !== '')
    .flatMap((turn): ChatMessage[] => [
      { role: 'user', content: turn.question },
      { role: 'assistant', content: turn.answer },
    ]);
  return [...before, { role: 'user', content: question }];
}
