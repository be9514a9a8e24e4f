import type { ChatMessage } from '../../electron/gateway/memberApi.ts';

interface Family {
  byId: ReadonlyMap<string, ChatMessage>;
  /** Of each message, and of null the first ones; oldest first. */
  children: ReadonlyMap<string | null, readonly ChatMessage[]>;
}

const families = new WeakMap<readonly ChatMessage[], Family>();

function familyOf(history: readonly ChatMessage[]): Family {
  const known = families.get(history);
  if (known !== undefined) return known;
  const children = new Map<string | null, ChatMessage[]>();
  for (const message of history) {
    const siblings = children.get(message.parent);
    if (siblings === undefined) children.set(message.parent, [message]);
    else siblings.push(message);
  }
  const family = { byId: new Map(history.map((message) => [message.id, message])), children };
  families.set(history, family);
  return family;
}

/** The messages from the first one to `leaf`, in order. */
export function threadTo(history: readonly ChatMessage[], leaf: string | null): ChatMessage[] {
  const { byId } = familyOf(history);
  const thread: ChatMessage[] = [];
  for (let at = leaf; at !== null; ) {
    const message = byId.get(at);
    if (message === undefined || thread.length > history.length) break;
    thread.push(message);
    at = message.parent;
  }
  return thread.reverse();
}

/** A message and the others in its place: edited questions, answers tried again. Oldest first. */
export function versionsOf(history: readonly ChatMessage[], { parent }: ChatMessage): readonly ChatMessage[] {
  return familyOf(history).children.get(parent) ?? [];
}

/** The newest message of all that follow from this one, on whichever branch; `history` is in the order of time. */
export function newestBelow(history: readonly ChatMessage[], id: string): string {
  const below = new Set([id]);
  let newest = id;
  for (const message of history) {
    if (message.parent === null || !below.has(message.parent)) continue;
    below.add(message.id);
    newest = message.id;
  }
  return newest;
}
