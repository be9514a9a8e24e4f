import type { MemberActions } from '../window/memberState.ts';
import type { ConversationStore } from './conversationStore.ts';

export type ConversationMethod =
  | 'conversations'
  | 'conversation'
  | 'saveConversation'
  | 'deleteConversation'
  | 'searchConversations';

/** What the contract's methods about chats do. Each rejects with ConversationError. */
export function conversationActions(store: ConversationStore): Pick<MemberActions, ConversationMethod> {
  return {
    conversations: async () => ({ conversations: await store.list() }),
    conversation: ({ id }) => store.read(id),
    saveConversation: ({ id, changes, messages }) => store.save(id, changes, messages),
    deleteConversation: async ({ id }) => {
      await store.delete(id);
      return {};
    },
    searchConversations: async ({ text }) => ({ found: await store.search(text) }),
  };
}
