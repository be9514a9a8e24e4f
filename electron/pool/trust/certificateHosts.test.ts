import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { newPoolAuthority } from '../poolAuthority.ts';
import { checkHosts, holdsHosts } from './certificateHosts.ts';

test('a certificate holds what is local, and no name of a site', async () => {
  const hosts = ['192.168.1.7', 'fd00::7', '127.0.0.1', 'ada', 'ada.local'];
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = await (await newPoolAuthority()).issueCertificate(publicKey, checkHosts(hosts));
  expect(holdsHosts(certificate, hosts)).toBe(true);
  expect(holdsHosts(certificate, ['192.168.1.8'])).toBe(false);
  for (const host of ['example.com', '8.8.8.8', '2001:4860:4860::8888', '*.local', '', 'a.b.local', '-']) {
    expect(() => checkHosts([...hosts, host]), host).toThrow(/no local address/);
  }
});
