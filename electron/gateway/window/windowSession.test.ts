import { beforeEach, expect, test } from 'vitest';
import type { MemberMessage } from '../memberApi.ts';
import { memberState, pipeline } from '../testing/memberFixtures.ts';
import { localMemberApi, MemberStateStore } from './memberState.ts';
import { openWindowSession, WindowMessageError, type WindowSession } from './windowSession.ts';

const idle = memberState();
const serving = memberState(pipeline());

let store: MemberStateStore;
let sent: MemberMessage[];
let session: WindowSession;

beforeEach(() => {
  store = new MemberStateStore(idle);
  sent = [];
  session = openWindowSession(localMemberApi({ state: store }), (message) => sent.push(message));
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a call is answered under its id with the state of that moment', async () => {
  store.update(() => serving);
  session.receive({ kind: 'call', id: 7, method: 'state', params: {} });
  await settled();
  expect(sent).toEqual([{ kind: 'result', id: 7, value: serving }]);
});

test('a topic sends its present value, then each change, until it is unsubscribed', () => {
  session.receive({ kind: 'subscribe', topic: 'state' });
  store.update(() => serving);
  store.update((state) => state);
  session.receive({ kind: 'unsubscribe', topic: 'state' });
  store.update(() => idle);
  expect(sent).toEqual([
    { kind: 'event', topic: 'state', value: idle },
    { kind: 'event', topic: 'state', value: serving },
  ]);
});

test('subscribing again, as a reloaded page does, sends the present value again and each change once', () => {
  session.receive({ kind: 'subscribe', topic: 'state' });
  session.receive({ kind: 'subscribe', topic: 'state' });
  expect(sent).toHaveLength(2);
  store.update(() => serving);
  expect(sent).toHaveLength(3);
});

test('a closed session sends nothing, not even the answer that was under way', async () => {
  session.receive({ kind: 'subscribe', topic: 'state' });
  session.receive({ kind: 'call', id: 1, method: 'state', params: {} });
  session.close();
  store.update(() => serving);
  await settled();
  expect(sent).toEqual([{ kind: 'event', topic: 'state', value: idle }]);
});

test.each([
  ['an unknown method', { kind: 'call', id: 1, method: 'toString', params: {} }, /no method 'toString'/],
  ['wrong parameters', { kind: 'call', id: 1, method: 'state', params: { all: true } }, /wrong parameters/],
])('%s is an error of that call', async (_name, message, expected) => {
  session.receive(message);
  await settled();
  expect(sent).toEqual([{ kind: 'error', id: 1, message: expect.stringMatching(expected) }]);
});

test.each([
  ['text', 'state'],
  ['null', null],
  ['an unknown kind', { kind: 'reload' }],
  ['an unknown topic', { kind: 'subscribe', topic: '__proto__' }],
  ['a negative id', { kind: 'call', id: -1, method: 'state', params: {} }],
  ['a call without parameters', { kind: 'call', id: 1, method: 'state' }],
  ['a field too many', { kind: 'subscribe', topic: 'state', extra: 1 }],
])('%s breaks the contract', (_name, message) => {
  expect(() => session.receive(message)).toThrow(WindowMessageError);
  expect(sent).toEqual([]);
});
