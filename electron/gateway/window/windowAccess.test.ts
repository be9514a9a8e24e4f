import { expect, test } from 'vitest';
import { WindowAccess } from './windowAccess.ts';

test('a token opens one session, once', () => {
  const access = new WindowAccess();
  const token = access.createToken();
  const session = access.exchange(token);
  expect(session).not.toBeNull();
  expect(access.holds(session ?? '')).toBe(true);
  expect(access.exchange(token)).toBeNull();
  expect(access.holds(token)).toBe(false);
});

test('tokens and sessions of another member, and made-up ones, open nothing', () => {
  const access = new WindowAccess();
  const other = new WindowAccess();
  expect(access.exchange(other.createToken())).toBeNull();
  expect(access.exchange('')).toBeNull();
  expect(access.holds('')).toBe(false);
});

test('only the newest hundred unused links are kept', () => {
  const access = new WindowAccess();
  const first = access.createToken();
  const rest = Array.from({ length: 100 }, () => access.createToken());
  expect(access.exchange(first)).toBeNull();
  expect(access.exchange(rest[0] ?? '')).not.toBeNull();
});
