import { lineOf } from '../../planner/lineOf.ts';
import {
  type MemberApi,
  type MemberEvent,
  type MemberMessage,
  type MemberMethod,
  type MemberTopic,
  windowMessageSchema,
} from '../memberApi.ts';
import { methodParamSchemas } from '../methodParams.ts';

/** A message that breaks the contract; its carrier hangs up. */
export class WindowMessageError extends Error {
  constructor(options?: { cause?: unknown }) {
    super('The window sent a message that is not of the contract.', options);
    this.name = 'WindowMessageError';
  }
}

export interface WindowSession {
  /** Takes one message of the window, already decoded. Throws `WindowMessageError`. */
  receive(message: unknown): void;
  /** Ends every subscription; nothing is sent afterwards. */
  close(): void;
}

/** Serves one window, whatever carries its messages: answers calls by `id` and forwards topics until closed. */
export function openWindowSession(api: MemberApi, send: (message: MemberMessage) => void): WindowSession {
  const subscriptions = new Map<MemberTopic, () => void>();
  let open = true;
  const sendIfOpen = (message: MemberMessage) => {
    if (open) send(message);
  };
  return {
    receive(message) {
      const parsed = windowMessageSchema.safeParse(message);
      if (!parsed.success) throw new WindowMessageError({ cause: parsed.error });
      if (!open) return;
      switch (parsed.data.kind) {
        case 'call': {
          const { id, method, params } = parsed.data;
          answer(api, method, params).then(
            (value) => sendIfOpen({ kind: 'result', id, value }),
            (error: unknown) => sendIfOpen({ kind: 'error', id, message: lineOf(error) }),
          );
          break;
        }
        case 'subscribe': {
          const { topic } = parsed.data;
          subscriptions.get(topic)?.();
          subscriptions.set(topic, forward<MemberTopic>(api, topic, sendIfOpen));
          break;
        }
        case 'unsubscribe':
          subscriptions.get(parsed.data.topic)?.();
          subscriptions.delete(parsed.data.topic);
          break;
      }
    },
    close() {
      open = false;
      for (const end of subscriptions.values()) end();
      subscriptions.clear();
    },
  };
}

function forward<T extends MemberTopic>(api: MemberApi, topic: T, send: (event: MemberEvent<T>) => void): () => void {
  return api.subscribe(topic, (value) => send({ kind: 'event', topic, value }));
}

async function answer(api: MemberApi, method: string, params: unknown): Promise<unknown> {
  if (!isMethod(method)) throw new Error(`This member has no method '${method}'; reload the window.`);
  const parsed = methodParamSchemas[method].safeParse(params);
  if (!parsed.success) throw new Error(`'${method}' was called with wrong parameters; reload the window.`);
  return api.call(method, parsed.data);
}

function isMethod(name: string): name is MemberMethod {
  return Object.hasOwn(methodParamSchemas, name);
}
