import type {
  MemberApi,
  MemberEvent,
  MemberMessage,
  MemberMethod,
  MemberTopic,
  MemberTopics,
  MethodParams,
  MethodResult,
} from '../../electron/gateway/memberApi.ts';
import type { MemberPipe, PipeEvents } from './memberPipe.ts';

export type Connection = 'connecting' | 'open' | 'lost' | 'locked';

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * The member's contract over a pipe. Subscriptions outlive a lost connection and are made anew; calls under way when it
 * is lost reject.
 */
export function connectMember(
  openPipe: (events: PipeEvents) => MemberPipe,
  onConnection: (connection: Connection) => void,
): MemberApi {
  const pending = new Map<number, PendingCall>();
  const listeners: { [T in MemberTopic]: Set<(value: MemberTopics[T]) => void> } = {
    state: new Set(),
    pool: new Set(),
    library: new Set(),
    endpoint: new Set(),
  };
  const latest: Partial<MemberTopics> = {};
  let nextId = 0;
  let open = false;

  function tell<T extends MemberTopic>({ topic, value }: MemberEvent<T>): void {
    latest[topic] = value;
    for (const listener of [...listeners[topic]]) listener(value);
  }

  function receive(message: MemberMessage): void {
    switch (message.kind) {
      case 'result':
        pending.get(message.id)?.resolve(message.value);
        pending.delete(message.id);
        break;
      case 'error':
        pending.get(message.id)?.reject(new Error(message.message));
        pending.delete(message.id);
        break;
      case 'event':
        tell(message);
        break;
    }
  }

  const pipe = openPipe({
    onMessage: receive,
    onOpen() {
      open = true;
      onConnection('open');
      for (const topic of topicsOf(listeners)) {
        if (listeners[topic].size > 0) pipe.send({ kind: 'subscribe', topic });
      }
    },
    onLost() {
      open = false;
      onConnection('lost');
      for (const call of pending.values()) call.reject(new Error('The connection to the member was lost; try again.'));
      pending.clear();
    },
    onLocked: () => onConnection('locked'),
  });

  return {
    call<M extends MemberMethod>(method: M, params: MethodParams<M>): Promise<MethodResult<M>> {
      if (!open) return Promise.reject(new Error('The member is not connected; try again in a moment.'));
      const id = nextId++;
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve: (value) => resolve(value as MethodResult<M>), reject });
        pipe.send({ kind: 'call', id, method, params });
      });
    },
    subscribe(topic, listener) {
      const own = (value: MemberTopics[typeof topic]) => listener(value);
      const present = latest[topic];
      listeners[topic].add(own);
      if (listeners[topic].size > 1) {
        if (present !== undefined) own(present);
      } else if (open) {
        pipe.send({ kind: 'subscribe', topic });
      }
      return () => {
        listeners[topic].delete(own);
        if (listeners[topic].size > 0) return;
        delete latest[topic];
        if (open) pipe.send({ kind: 'unsubscribe', topic });
      };
    },
  };
}

function topicsOf(listeners: Record<MemberTopic, unknown>): MemberTopic[] {
  return Object.keys(listeners) as MemberTopic[];
}
