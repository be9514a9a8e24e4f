/** What the window keeps of a chat. Plain data, checked wherever it enters: from a window and from a file. */
import { z } from 'zod';

/** Chosen by the window; also the name of the file. */
export const conversationIdSchema = z.string().regex(/^[a-z0-9][a-z0-9-]{7,63}$/, 'is no id of a conversation');
const time = z.int().nonnegative();

/** How an answer came about. */
const answerFactsSchema = z.strictObject({
  model: z.string().max(1000),
  /** Null where the answer broke off before it was known. */
  tokens: z.int().nonnegative().nullable(),
  tokensPerSecond: z.number().nonnegative().nullable(),
  /** Of the drafts that its pipeline has made until then, the share that was accepted; null where it made none. */
  acceptance: z.number().min(0).max(1).nullable().default(null),
  /** Names of the members that computed it. */
  members: z.array(z.string().max(1000)).max(1000),
  outcome: z.enum(['done', 'stopped', 'failed']),
  /** The reason of one that failed, for people. */
  problem: z.string().max(10_000).nullable(),
});
export type AnswerFacts = z.infer<typeof answerFactsSchema>;

/** One message. Those with the same parent are versions of each other: edited questions, answers tried again. */
export const chatMessageSchema = z.strictObject({
  id: z.string().min(1).max(64),
  /** The message before; null of a first one. */
  parent: z.string().min(1).max(64).nullable(),
  role: z.enum(['user', 'assistant']),
  content: z.string().max(1_000_000),
  createdAt: time,
  /** Null of a question. */
  answer: answerFactsSchema.nullable(),
});
export type ChatMessage = z.infer<typeof chatMessageSchema>;

/** Null leaves a value to the gateway. */
export const chatSettingsSchema = z.strictObject({
  /** What the model is told before the first question; empty for nothing. */
  system: z.string().max(100_000),
  temperature: z.number().min(0).max(2).nullable(),
  topP: z.number().min(0).max(1).nullable(),
  maxTokens: z.int().min(1).max(10_000_000).nullable(),
  seed: z.int().nonnegative().nullable(),
});
export type ChatSettings = z.infer<typeof chatSettingsSchema>;

/** What can change of a conversation beside its messages, which are only ever added. */
export const conversationChangesSchema = z.strictObject({
  title: z.string().min(1).max(200).optional(),
  /** Null for whichever serves. */
  model: z.string().max(1000).nullable().optional(),
  settings: chatSettingsSchema.optional(),
  /** The last message of the branch that is shown. */
  leaf: z.string().max(64).nullable().optional(),
});
export type ConversationChanges = z.infer<typeof conversationChangesSchema>;

export interface ConversationHead {
  id: string;
  title: string;
  messages: number;
  /** Milliseconds since 1970. */
  updatedAt: number;
}

export interface Conversation extends ConversationHead {
  model: string | null;
  settings: ChatSettings;
  leaf: string | null;
  /** In the order in which they were added. */
  history: ChatMessage[];
}

export interface FoundMessage {
  conversation: string;
  title: string;
  message: string;
  /** The words around the first match. */
  excerpt: string;
}
