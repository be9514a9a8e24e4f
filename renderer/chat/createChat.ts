import { create } from 'zustand';
import type {
  AnswerFacts,
  ChatMessage,
  ChatSettings,
  Conversation,
  ConversationChanges,
  ConversationHead,
  MemberApi,
} from '../../electron/gateway/memberApi.ts';
import { lineOf } from '../controls/lineOf.ts';
import type { ChatEvent, ChatRequest } from './streamChat.ts';
import { newestBelow, threadTo } from './thread.ts';

/** An answer under way. */
export interface RunningAnswer {
  conversation: string;
  model: string;
  /** The message that the answer will be. */
  id: string;
  question: string;
  text: string;
}

export interface ChatState {
  /** Newest first; null before they are known. */
  heads: readonly ConversationHead[] | null;
  /** The conversation that is shown; a new one is kept with its first question. */
  shown: Conversation;
  running: RunningAnswer | null;
  /** Why the last question got no answer at all. */
  failure: { conversation: string; question: string; problem: string } | null;
  /** Why something could not be opened or kept, for people. */
  problem: string | null;
}

/** What the chat needs of the world; tests bring their own. */
export interface ChatWorld {
  call: MemberApi['call'];
  stream: (request: ChatRequest, signal: AbortSignal) => AsyncIterable<ChatEvent>;
  /** Names of the members that compute a model, and the share of its drafts that was accepted lately; null for none. */
  servedBy: (model: string) => Pick<AnswerFacts, 'members' | 'acceptance'>;
  /** Milliseconds since 1970. */
  now: () => number;
  newId: () => string;
  /** Calls back when the next picture is drawn: text that arrives in between is shown at once. */
  nextFrame: (callback: () => void) => void;
}

const TITLE = 60; // characters

/** The conversations of this window, and all that can be done with them. */
export function createChat({ call, stream, servedBy, now, newId, nextFrame }: ChatWorld) {
  const useChat = create<ChatState>()(() => ({
    heads: null,
    shown: fresh(newId()),
    running: null,
    failure: null,
    problem: null,
  }));
  const { getState: get, setState: set } = useChat;
  let abort: AbortController | null = null;
  let opening = 0;
  /** Conversations that were deleted: what still comes for them is not kept. */
  const gone = new Set<string>();

  const fail = (cause: unknown): void => set({ problem: lineOf(cause) });

  async function loadHeads(): Promise<void> {
    await call('conversations', {}).then(({ conversations }) => set({ heads: conversations }), fail);
  }

  async function open(id: string): Promise<void> {
    const mine = ++opening;
    await call('conversation', { id }).then((shown) => {
      if (mine === opening) set({ shown, problem: null });
    }, fail);
  }

  function startNew(): void {
    opening += 1;
    const { settings, model } = get().shown;
    set({ shown: { ...fresh(newId()), settings, model }, problem: null });
  }

  /** Keeps changes and messages on the disk, and shows them at once where that conversation is shown. */
  async function keep(id: string, changes: ConversationChanges, messages: readonly ChatMessage[] = []): Promise<void> {
    const { shown } = get();
    if (gone.has(id)) return;
    if (shown.id === id) set({ shown: changed(shown, changes, messages) });
    if (shown.id === id && shown.history.length === 0 && messages.length === 0) return; // a new one, without a question yet
    await call('saveConversation', { id, changes, messages: [...messages] }).then((head) => {
      const others = (get().heads ?? []).filter((each) => each.id !== id);
      set({ heads: [head, ...others].sort((a, b) => b.updatedAt - a.updatedAt) });
    }, fail);
  }

  async function ask(model: string, text: string, parent = get().shown.leaf): Promise<void> {
    if (abort !== null) return;
    const { shown } = get();
    const question: ChatMessage = { id: newId(), parent, role: 'user', content: text, createdAt: now(), answer: null };
    const first = shown.history.length === 0;
    const keeping = keep(
      shown.id,
      first ? { title: titleOf(text), settings: shown.settings, model: shown.model } : {},
      [question],
    );
    await answer(model, question.id, keeping);
  }

  /** Answers a question of the conversation that is shown; an answer that it has already stays beside the new one. */
  async function answer(model: string, question: string, before: Promise<void> = Promise.resolve()): Promise<void> {
    if (abort !== null) return;
    const { shown } = get();
    const mine = new AbortController();
    abort = mine;
    const id = newId();
    set({
      running: { conversation: shown.id, model, id, question, text: '' },
      shown: { ...shown, leaf: question },
      failure: null,
    });
    const messages = threadTo(shown.history, question).map(({ role, content }) => ({ role, content }));
    const facts: AnswerFacts = {
      model,
      tokens: null,
      tokensPerSecond: null,
      ...servedBy(model),
      outcome: 'done',
      problem: null,
    };
    let text = '';
    let pieces = 0;
    let firstAt: number | null = null;
    let lastAt = 0;
    let due = false;
    const show = (): void => {
      due = false;
      const { running } = get();
      if (running?.id === id) set({ running: { ...running, text } });
    };
    try {
      for await (const event of stream({ model, messages, settings: shown.settings }, mine.signal)) {
        if (event.kind === 'usage') {
          facts.tokens = event.completionTokens;
          continue;
        }
        lastAt = now();
        firstAt ??= lastAt;
        text += event.text;
        pieces += 1;
        if (due) continue;
        due = true;
        nextFrame(show);
      }
    } catch (cause) {
      facts.outcome = mine.signal.aborted ? 'stopped' : 'failed';
      if (!mine.signal.aborted) facts.problem = lineOf(cause);
    }
    // An answer that breaks off tells no count; it comes about a token at a time.
    if (facts.outcome !== 'done' && pieces > 0) facts.tokens ??= pieces;
    // The first token ends the reading of the prompt, so only the others tell the pace.
    if (facts.tokens !== null && facts.tokens > 1 && firstAt !== null && lastAt > firstAt) {
      facts.tokensPerSecond = (1000 * (facts.tokens - 1)) / (lastAt - firstAt);
    }
    // Known a moment later than the tokens are, and only while it still serves.
    facts.acceptance = servedBy(model).acceptance ?? facts.acceptance;
    await before;
    abort = null;
    if (text === '' && facts.problem !== null) {
      set({ running: null, failure: { conversation: shown.id, question, problem: facts.problem } });
      return;
    }
    // In one go with `keep`, or the answer would be gone for a moment.
    set({ running: null });
    const done: ChatMessage = {
      id,
      parent: question,
      role: 'assistant',
      content: text,
      createdAt: now(),
      answer: facts,
    };
    await keep(shown.id, {}, [done]);
  }

  return {
    useChat,
    loadHeads,
    open,
    startNew,
    /** Asks the model, with the conversation before it, and streams the answer. */
    ask,
    answer,
    /** Asks an earlier question in other words; what followed from it stays as another version. */
    edit: (model: string, { parent }: ChatMessage, text: string) => ask(model, text, parent),
    /** Ends the answer under way; what has arrived of it stays. */
    stop: (): void => abort?.abort(),
    /** Shows another version of a message, with what followed from it. */
    showVersion: (id: string) => {
      const { shown } = get();
      return keep(shown.id, { leaf: newestBelow(shown.history, id) });
    },
    changeSettings: (changes: Partial<ChatSettings>) => {
      const { shown } = get();
      return keep(shown.id, { settings: { ...shown.settings, ...changes } });
    },
    chooseModel: (model: string | null) => keep(get().shown.id, { model }),
    rename: (id: string, title: string) => keep(id, { title }),
    /** Deletes a conversation; an answer under way in it ends. */
    async remove(id: string): Promise<void> {
      gone.add(id);
      if (get().running?.conversation === id) abort?.abort();
      try {
        await call('deleteConversation', { id });
      } catch (cause) {
        gone.delete(id);
        throw cause;
      }
      set(({ heads }) => ({ heads: (heads ?? []).filter((head) => head.id !== id) }));
      if (get().shown.id === id) startNew();
    },
  };
}

export type Chat = ReturnType<typeof createChat>;

function fresh(id: string): Conversation {
  return {
    id,
    title: 'New chat',
    messages: 0,
    updatedAt: 0,
    model: null,
    settings: { system: '', temperature: null, topP: null, maxTokens: null, seed: null },
    leaf: null,
    history: [],
  };
}

function changed(
  conversation: Conversation,
  { title, model, settings, leaf }: ConversationChanges,
  messages: readonly ChatMessage[],
): Conversation {
  const last = messages.at(-1)?.id;
  return {
    ...conversation,
    title: title ?? conversation.title,
    model: model === undefined ? conversation.model : model,
    settings: settings ?? conversation.settings,
    leaf: leaf === undefined ? (last ?? conversation.leaf) : leaf,
    history: messages.length === 0 ? conversation.history : [...conversation.history, ...messages],
    messages: conversation.messages + messages.length,
  };
}

function titleOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= TITLE ? line : `${line.slice(0, TITLE - 1)}…`;
}
