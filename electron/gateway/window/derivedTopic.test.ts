import { expect, test } from 'vitest';
import type { MemberMessage, PoolState } from '../memberApi.ts';
import { derivedTopic } from './derivedTopic.ts';
import { localMemberApi, MemberStateStore } from './memberState.ts';
import { openWindowSession } from './windowSession.ts';

const alone: PoolState = {
  status: {
    self: { id: 'm1', name: 'desk' },
    pool: null,
    coordinator: null,
    epoch: null,
    members: [],
    pipelines: [],
  },
  members: [],
  removed: null,
  invites: [],
};

test('the pool topic sends the present value, then each change once, and nothing where nothing changed', () => {
  let pool = alone;
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  const topic = derivedTopic(
    () => pool,
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  );
  const state = new MemberStateStore({ self: alone.status.self, pipelines: [], endpoint: '' });
  const sent: MemberMessage[] = [];
  const session = openWindowSession(localMemberApi({ state, pool: topic }), (message) => sent.push(message));

  session.receive({ kind: 'subscribe', topic: 'pool' });
  tell();
  const joined = { ...alone, status: { ...alone.status, pool: { id: 'p', name: 'Attic' } } };
  pool = joined;
  tell();
  pool = structuredClone(joined);
  tell();
  const event = { kind: 'event', topic: 'pool' };
  expect(sent).toEqual([
    { ...event, value: alone },
    { ...event, value: joined },
  ]);
  session.receive({ kind: 'unsubscribe', topic: 'pool' });
  expect(listeners.size).toBe(0);
});
