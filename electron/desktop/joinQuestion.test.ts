import { expect, test } from 'vitest';
import { formatInvite, inviteLink } from '../pool/trust/inviteToken.ts';
import { poolFingerprint } from '../pool/trust/poolFingerprint.ts';
import { joinQuestion } from './joinQuestion.ts';

const invite = {
  pool: `${'abcdefgh'.repeat(6)}wxyz`,
  poolName: 'The room',
  secret: new Uint8Array(16),
  expiresAtMs: 1_000,
  hosts: ['192.168.1.2'],
  port: 4000,
};
const link = inviteLink(formatInvite(invite));
const asked = { now: 0, pool: null };

test('it names the pool and its fingerprint', () => {
  const { message, detail, token } = joinQuestion(link, asked);
  expect(message).toBe('Join the pool “The room”?');
  expect(detail).toContain(`Fingerprint: ${poolFingerprint(invite.pool)}`);
  expect(link).toMatch(/^roomful:\/\/join\/[\w-]+$/);
  expect(poolFingerprint(invite.pool)).toMatch(/^(abcd efgh ){6}wxyz$/);
  expect(joinQuestion(`${link}/`, asked).token).toBe(token);
});

test('a link that is damaged, expired, or of no use here is refused with the reason', () => {
  expect(() => joinQuestion(`${link.slice(0, -2)}`, asked)).toThrow('damaged');
  expect(() => joinQuestion('roomful://leave/now', asked)).toThrow('no invite token');
  expect(() => joinQuestion(link, { now: 2_000, pool: null })).toThrow('The invite to The room has expired');
  expect(() => joinQuestion(link, { now: 0, pool: 'Our room' })).toThrow('Leave it before you join The room');
});
