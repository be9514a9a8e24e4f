import { beforeEach, expect, test } from 'vitest';
import type { MemberApi, MemberState, WindowMessage } from '../../electron/gateway/memberApi.ts';
import { type Connection, connectMember } from './memberClient.ts';
import type { PipeEvents } from './memberPipe.ts';

const state: MemberState = { self: { id: 'm', name: 'desk' }, pipelines: [], endpoint: 'http://127.0.0.1:1/v1' };

let sent: WindowMessage[];
let connections: Connection[];
let events: PipeEvents;
let api: MemberApi;

beforeEach(() => {
  sent = [];
  connections = [];
  api = connectMember(
    (theirs) => {
      events = theirs;
      return { send: (message) => sent.push(message) };
    },
    (connection) => connections.push(connection),
  );
});

test('answers find their call, in any order', async () => {
  events.onOpen();
  const first = api.call('state', {});
  const second = api.call('state', {});
  expect(sent).toEqual([
    { kind: 'call', id: 0, method: 'state', params: {} },
    { kind: 'call', id: 1, method: 'state', params: {} },
  ]);
  events.onMessage({ kind: 'error', id: 1, message: 'Not now.' });
  events.onMessage({ kind: 'result', id: 0, value: state });
  await expect(first).resolves.toBe(state);
  await expect(second).rejects.toThrow('Not now.');
});

test('a call rejects while there is no connection, and when it is lost', async () => {
  await expect(api.call('state', {})).rejects.toThrow('not connected');
  events.onOpen();
  const call = api.call('state', {});
  events.onLost();
  await expect(call).rejects.toThrow('lost');
  expect(connections).toEqual(['open', 'lost']);
});

test('a subscription survives a lost connection and is made once for many listeners', () => {
  const heard: string[] = [];
  const endFirst = api.subscribe('state', ({ endpoint }) => heard.push(`first ${endpoint}`));
  expect(sent).toEqual([]);
  events.onOpen();
  events.onMessage({ kind: 'event', topic: 'state', value: state });
  const endSecond = api.subscribe('state', ({ endpoint }) => heard.push(`second ${endpoint}`));
  events.onLost();
  events.onOpen();
  events.onMessage({ kind: 'event', topic: 'state', value: { ...state, endpoint: 'new' } });
  endFirst();
  expect(sent.map(({ kind }) => kind)).toEqual(['subscribe', 'subscribe']);
  endSecond();
  expect(sent.at(-1)).toEqual({ kind: 'unsubscribe', topic: 'state' });
  expect(heard).toEqual([`first ${state.endpoint}`, `second ${state.endpoint}`, 'first new', 'second new']);
});

test('after the last listener has left, a new one waits for a fresh value', () => {
  events.onOpen();
  api.subscribe('state', () => {})();
  events.onMessage({ kind: 'event', topic: 'state', value: state });
  const heard: MemberState[] = [];
  api.subscribe('state', (value) => heard.push(value));
  expect(sent.map(({ kind }) => kind)).toEqual(['subscribe', 'unsubscribe', 'subscribe']);
  events.onMessage({ kind: 'event', topic: 'state', value: { ...state, endpoint: 'fresh' } });
  expect(heard.map(({ endpoint }) => endpoint)).toEqual(['fresh']);
});
