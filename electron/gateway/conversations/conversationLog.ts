import { z } from 'zod';
import {
  type ChatMessage,
  type Conversation,
  type ConversationChanges,
  chatMessageSchema,
  conversationChangesSchema,
} from './conversation.ts';

/** A line of a conversation's file. */
const recordSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('message'), message: chatMessageSchema }),
  z.strictObject({ kind: z.literal('changes'), at: z.int().nonnegative(), changes: conversationChangesSchema }),
]);
type LogRecord = z.infer<typeof recordSchema>;

/** The lines that add these changes and messages, each with its end. */
export function logLines(changes: ConversationChanges, messages: readonly ChatMessage[], at: number): string {
  const records: LogRecord[] = [
    ...messages.map((message): LogRecord => ({ kind: 'message', message })),
    ...(Object.keys(changes).length === 0 ? [] : [{ kind: 'changes', at, changes } as const]),
  ];
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/** What a conversation's file holds, and how many of its bytes are whole lines: a torn last line is none. */
export function readLog(id: string, text: string): { conversation: Conversation; wholeBytes: number } {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const conversation: Conversation = emptyConversation(id);
  const lines = whole.split('\n');
  lines.pop();
  for (const line of lines) apply(conversation, recordSchema.parse(JSON.parse(line)));
  return { conversation, wholeBytes: Buffer.byteLength(whole) };
}

export function emptyConversation(id: string): Conversation {
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

function apply(conversation: Conversation, record: LogRecord): void {
  if (record.kind === 'message') {
    conversation.history.push(record.message);
    conversation.messages += 1;
    conversation.leaf = record.message.id;
    conversation.updatedAt = Math.max(conversation.updatedAt, record.message.createdAt);
    return;
  }
  const { title, model, settings, leaf } = record.changes;
  if (title !== undefined) conversation.title = title;
  if (model !== undefined) conversation.model = model;
  if (settings !== undefined) conversation.settings = settings;
  if (leaf !== undefined) conversation.leaf = leaf;
  conversation.updatedAt = Math.max(conversation.updatedAt, record.at);
}
