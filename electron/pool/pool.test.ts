import { X509Certificate } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openIdentity } from './identity.ts';
import { openPoolAuthority } from './poolAuthority.ts';
import { openTlsMaterial, savePoolCertificate } from './poolCertificate.ts';

const DAY_MS = 86_400_000;
let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'roomful-pool-'));
});

afterEach(async () => {
  await rm(home, { recursive: true, force: true });
});

test('an identity is made once, also by processes that start together, and is private', async () => {
  const identities = await Promise.all([openIdentity(home), openIdentity(home), openIdentity(home)]);
  const again = await openIdentity(home);
  for (const { id } of identities) expect(id).toBe(again.id);
  const folder = join(home, 'identity');
  expect(await readdir(folder)).toEqual(['key.pem']);
  expect((await stat(join(folder, 'key.pem'))).mode & 0o777).toBe(0o600);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

test('a pool CA is made once, and signs 90 days from a day back', async () => {
  const now = Date.UTC(2030, 0, 1);
  const identity = await openIdentity(home);
  const [first] = await Promise.all([openPoolAuthority(home, () => now), openPoolAuthority(home, () => now)]);
  const authority = await openPoolAuthority(home, () => now);
  expect(authority.certificate).toBe(first?.certificate);
  for (const file of ['ca.pem', 'ca-key.pem']) expect((await stat(join(home, 'pool', file))).mode & 0o777).toBe(0o600);

  const ca = new X509Certificate(authority.certificate);
  const certificate = new X509Certificate(await authority.issueCertificate(identity.publicKey));
  expect(ca.ca).toBe(true);
  expect(certificate.ca).toBe(false);
  expect(certificate.checkIssued(ca)).toBe(true);
  expect(certificate.verify(ca.publicKey)).toBe(true);
  expect(certificate.subject).toBe(`CN=${identity.id}`);
  expect(Date.parse(certificate.validFrom)).toBe(now - DAY_MS);
  expect(Date.parse(certificate.validTo)).toBe(now + 90 * DAY_MS);
});

test('what the pool gave is kept, and belongs to this machine or is refused', async () => {
  const identity = await openIdentity(home);
  await expect(openTlsMaterial(home, identity)).rejects.toMatchObject({ kind: 'NotInPool' });

  const authority = await openPoolAuthority(join(home, 'admin'));
  const certificate = await authority.issueCertificate(identity.publicKey);
  await savePoolCertificate(home, { ca: authority.certificate, certificate });
  const tls = await openTlsMaterial(home, identity);
  expect(tls).toMatchObject({ ca: authority.certificate, cert: certificate });

  const stranger = await openIdentity(join(home, 'stranger'));
  await expect(openTlsMaterial(home, stranger)).rejects.toMatchObject({ kind: 'DamagedFile' });
  const other = await openPoolAuthority(join(home, 'other'));
  await savePoolCertificate(home, { ca: other.certificate, certificate });
  await expect(openTlsMaterial(home, identity)).rejects.toMatchObject({ kind: 'DamagedFile' });
});

test('a damaged file is named, and never replaced', async () => {
  await openIdentity(home);
  const path = join(home, 'identity', 'key.pem');
  await chmod(path, 0o600);
  await writeFile(path, 'not a key');
  await expect(openIdentity(home)).rejects.toMatchObject({
    kind: 'DamagedFile',
    message: expect.stringContaining(path),
  });
  await openPoolAuthority(home);
  await writeFile(join(home, 'pool', 'ca.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  await expect(openPoolAuthority(home)).rejects.toMatchObject({ kind: 'DamagedFile' });
});
