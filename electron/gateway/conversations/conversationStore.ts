import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ChatMessage,
  type Conversation,
  type ConversationChanges,
  type ConversationHead,
  conversationIdSchema,
  type FoundMessage,
} from './conversation.ts';
import { logLines, readLog } from './conversationLog.ts';

const ENDING = '.jsonl';
const MOST_FOUND = 50;
const EXCERPT = 60; // characters on each side of a match

/** A conversation that cannot be read or written, in one plain line. */
export class ConversationError extends Error {
  override readonly name = 'ConversationError';
}

/**
 * The conversations of this machine's owner, one file each, in which lines are only ever added, so that a crash costs at most
 * the line that was being written. Files are readable by their owner alone.
 */
export class ConversationStore {
  readonly #folder: string;
  readonly #now: () => number;
  readonly #heads = new Map<string, ConversationHead>();
  /** The last work on each file: one after the other. */
  readonly #queues = new Map<string, Promise<unknown>>();
  #listed: Promise<void> | null = null;

  constructor(folder: string, now: () => number = Date.now) {
    this.#folder = folder;
    this.#now = now;
  }

  /** Newest first. A file that cannot be read is left out. */
  async list(): Promise<ConversationHead[]> {
    this.#listed ??= this.#readHeads();
    await this.#listed;
    return [...this.#heads.values()].sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1));
  }

  /** Rejects with ConversationError where there is none. */
  async read(id: string): Promise<Conversation> {
    return this.#inTurn(id, async () => (await this.#load(id)).conversation);
  }

  /** Adds messages and changes; makes the conversation where there is none. What was answered is on the disk. */
  async save(id: string, changes: ConversationChanges, messages: readonly ChatMessage[]): Promise<ConversationHead> {
    await this.list();
    return this.#inTurn(id, async () => {
      const { conversation, wholeBytes } = await this.#load(id, true);
      const known = new Set(conversation.history.map((message) => message.id));
      for (const { id: message, parent } of messages) {
        if (known.has(message)) throw new ConversationError('The conversation has this message already.');
        if (parent !== null && !known.has(parent)) {
          throw new ConversationError('The conversation lacks the message before this one; open it again.');
        }
        known.add(message);
      }
      const lines = logLines(changes, messages, this.#now());
      await this.#append(id, lines, wholeBytes);
      const head = headOf((await this.#load(id)).conversation);
      this.#heads.set(id, head);
      return head;
    });
  }

  async delete(id: string): Promise<void> {
    await this.#inTurn(id, async () => {
      await rm(this.#path(id), { force: true });
      this.#heads.delete(id);
    });
  }

  /** Messages that hold the text, in any case; those of the newest conversations first. */
  async search(text: string): Promise<FoundMessage[]> {
    const wanted = text.trim().toLowerCase();
    const found: FoundMessage[] = [];
    if (wanted === '') return found;
    for (const { id } of await this.list()) {
      const { history, title } = await this.read(id);
      for (const { id: message, content } of history) {
        const at = content.toLowerCase().indexOf(wanted);
        if (at === -1) continue;
        const from = Math.max(0, at - EXCERPT);
        const excerpt = content.slice(from, at + wanted.length + EXCERPT).replace(/\s+/g, ' ');
        found.push({ conversation: id, title, message, excerpt: `${from > 0 ? '…' : ''}${excerpt}` });
        if (found.length === MOST_FOUND) return found;
      }
    }
    return found;
  }

  async #readHeads(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#folder)) {
      const id = name.slice(0, -ENDING.length);
      if (!name.endsWith(ENDING) || !conversationIdSchema.safeParse(id).success) continue;
      const read = await this.#load(id).catch(() => null);
      if (read !== null) this.#heads.set(id, headOf(read.conversation));
    }
  }

  async #load(id: string, orEmpty = false): Promise<ReturnType<typeof readLog>> {
    let text: string;
    try {
      text = await readFile(this.#path(id), 'utf8');
    } catch (cause) {
      if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause;
      if (orEmpty) return readLog(id, '');
      throw new ConversationError('This conversation is not there any more.', { cause });
    }
    try {
      return readLog(id, text);
    } catch (cause) {
      throw new ConversationError(`The file of this conversation is damaged: ${this.#path(id)}`, { cause });
    }
  }

  async #append(id: string, lines: string, wholeBytes: number): Promise<void> {
    const file = await open(this.#path(id), 'a', 0o600);
    try {
      await file.truncate(wholeBytes);
      await file.writeFile(lines);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  #path(id: string): string {
    return join(this.#folder, `${id}${ENDING}`);
  }

  #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(id) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#queues.set(id, mine);
    const forget = (): void => {
      if (this.#queues.get(id) === mine) this.#queues.delete(id);
    };
    mine.then(forget, forget);
    return mine;
  }
}

function headOf({ id, title, messages, updatedAt }: Conversation): ConversationHead {
  return { id, title, messages, updatedAt };
}
