import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { demoCorpus, demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import type { LanMachine } from './lanMachine.ts';
import type { LanMember } from './testing/lanMember.ts';
import { LanPool } from './testing/lanPool.ts';
import { lanProgram } from './testing/lanProgram.ts';
import { serve } from './testing/lanServing.ts';
import { OpenaiUser } from './testing/openaiUser.ts';

const answerSchema = z.object({
  status: z.number().optional(),
  headers: z.record(z.string(), z.unknown()).default({}),
  text: z.string().default(''),
  failed: z.string().optional(),
});
const accessSchema = z.object({
  lan: z.object({ wanted: z.boolean(), addresses: z.array(z.string()), problem: z.string().nullable() }),
  origins: z.array(z.string()),
});
const keysSchema = z.array(
  z.object({ id: z.string(), name: z.string(), requests: z.number(), completionTokens: z.number() }),
);
const [known] = demoCorpus();

describeOnLan('the endpoint, from a machine that is in no pool', () => {
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  let pool: LanPool;
  let ada: LanMember;
  let stranger: LanMachine;
  let model: string;
  /** Origin of the endpoint for others. */
  let origin: string;
  /** File of the certificate, as somebody has carried it over. */
  let ca: string;
  let key: string;

  beforeAll(async () => {
    pool = await LanPool.start({ members: 1, spare: 1, args: ['--threads', '1'] });
    ada = pool.member(1);
    stranger = pool.machine(2);
    await pool.joinAll();
    ({ model } = await serve(ada, demoModelPath));
    origin = `https://${ada.machine.ipv4}:8443`;
    ca = join(pool.folder, 'pool-ca.pem');
  });
  afterAll(() => pool.close());

  async function ask(path: string, more: object = {}): Promise<z.infer<typeof answerSchema>> {
    const question = JSON.stringify({ url: `${origin}${path}`, ca, ...more });
    return answerSchema.parse(JSON.parse(await stranger.run(process.execPath, [lanProgram('askEndpoint'), question])));
  }
  const withKey = (more: object = {}): object => ({ headers: { authorization: `Bearer ${key}`, ...more } });
  const access = async (...args: string[]) => accessSchema.parse(JSON.parse(await ada.run(...args, '--json')));
  const keys = async () => keysSchema.parse(JSON.parse(await ada.run('keys', 'list', '--json')));

  test('is closed until its owner says so', async () => {
    await writeFile(ca, await ada.run('ca'));
    expect(await readFile(ca, 'utf8')).toMatch(/^-----BEGIN CERTIFICATE-----\n[\s\S]+-----END CERTIFICATE-----\n$/);
    expect(await ada.run('lan')).toBe('For this machine alone.\n');
    expect((await ask('/health')).failed).toBe('ECONNREFUSED');
    const plain = new URL(ada.gateway);
    expect((await ask('/health', { url: `https://${ada.machine.ipv4}:${plain.port}/health` })).failed).toBe(
      'ECONNREFUSED',
    );
  });

  test('then answers over HTTPS that only the certificate of the pool vouches for, and asks for a key', async () => {
    const { lan } = await access('lan', 'on');
    expect(lan).toMatchObject({ wanted: true, problem: null });
    expect(lan.addresses).toContain(`${origin}/v1`);
    expect(await ada.run('lan')).toContain(`${origin}/v1`);
    expect((await ask('/health', { ca: undefined })).failed).toMatch(/CERT|VERIFY/);
    expect((await ask('/health')).status).toBe(200);
    expect((await ask('/ca.pem')).text.trim()).toBe((await readFile(ca, 'utf8')).trim());
    for (const headers of [{}, { authorization: 'Bearer sk-roomful-guessed' }, { authorization: 'Basic YTpi' }]) {
      const refused = await ask('/v1/models', { headers });
      expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([401, 'invalid_api_key']);
    }
  });

  test('a key opens it to the official client, and is shown once', async () => {
    expect(await ada.run('keys', 'list')).toMatch(/^There are no keys/);
    const added = await ada.run('keys', 'add', 'notes');
    key = /^(sk-roomful-\S{43})\n\nIt is not shown again\.\n$/.exec(added)?.[1] ?? '';
    expect(key, added).not.toBe('');
    await expect(ada.run('keys', 'add', 'notes')).rejects.toThrow(/already/);

    const user = await OpenaiUser.start(stranger, origin, { key, ca });
    expect(await user.models()).toEqual([model]);
    const answer = await user.ask(model, known?.questions[0] ?? '').ended();
    expect(answer).toEqual({ text: known?.answer, finish: 'stop' });

    const kept = join(ada.home, 'api-keys.json');
    expect((await stat(kept)).mode & 0o777).toBe(0o600);
    expect(await readFile(kept, 'utf8')).not.toContain(key);
    for (const args of [
      ['keys', 'list'],
      ['keys', 'list', '--json'],
      ['lan', '--json'],
    ]) {
      expect(await ada.run(...args)).not.toContain(key);
    }
  });

  test('what a key has used survives a power cut', async () => {
    const [used] = await keys();
    expect(used).toMatchObject({ name: 'notes', requests: 2 });
    expect(used?.completionTokens).toBeGreaterThan(10);
    await eventually(async () => {
      expect(JSON.parse(await readFile(join(ada.home, 'api-keys.json'), 'utf8')).keys).toMatchObject([used]);
    });
    await ada.kill();
    await ada.up('--threads', '1');
    expect(await keys()).toEqual([used]);
    await eventually(async () => expect((await ask('/v1/models', withKey())).status).toBe(200));
  });

  test('a Host that is another machine, and pages that were not chosen, are refused with a key too', async () => {
    const rebound = await ask('/v1/models', withKey({ host: 'evil.example' }));
    expect([rebound.status, JSON.parse(rebound.text).error.code]).toEqual([403, 'host_not_allowed']);
    const page = { origin: 'http://notes.example:3000' };
    expect((await ask('/v1/models', withKey(page))).status).toBe(403);
    expect((await access('origins', page.origin)).origins).toEqual([page.origin]);
    const preflight = await ask('/v1/chat/completions', { method: 'OPTIONS', headers: page });
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, page.origin]);
    expect((await ask('/v1/models', withKey(page))).status).toBe(200);
    await expect(ada.run('origins', 'notes')).rejects.toThrow(/origins/);
    expect((await access('origins', '--none')).origins).toEqual([]);
    expect((await ask('/v1/models', withKey(page))).status).toBe(403);
  });

  test('the member itself is not there for others, whatever they carry', async () => {
    const token = (await readFile(join(ada.home, 'local-token'), 'utf8')).trim();
    for (const authorization of [`Bearer ${token}`, `Bearer ${key}`]) {
      const { status = 0 } = await ask('/api/member/status', { method: 'POST', headers: { authorization } });
      expect([401, 404]).toContain(status);
    }
  });

  test('a revoked key opens nothing any more, and closed again nobody is answered', async () => {
    await expect(ada.run('keys', 'revoke', 'nobody')).rejects.toThrow(/There is no key called nobody/);
    expect(await ada.run('keys', 'revoke', 'notes')).toBe('notes opens nothing any more.\n');
    expect((await ask('/v1/models', withKey())).status).toBe(401);
    expect(await keys()).toEqual([]);
    expect(await access('lan', 'off')).toMatchObject({ lan: { wanted: false, addresses: [] } });
    expect((await ask('/health')).failed).toBe('ECONNREFUSED');
  });
});
