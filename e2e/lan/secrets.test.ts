import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseInvite } from '../../electron/pool/trust/inviteToken.ts';
import { eventually } from '../testing/eventually.ts';
import { processesOf, processTree } from '../testing/processTree.ts';
import { describeOnLan } from './describeOnLan.ts';
import type { LanProcess } from './lanProcess.ts';
import { LanPool } from './testing/lanPool.ts';
import { lanProgram } from './testing/lanProgram.ts';

const PASSPHRASE = 'four words and a 5';
const QUESTIONS = ['state', 'status', 'members', 'doctor'].map((method) => `/api/member/${method}`);

/** Something that must be found nowhere but in its places, in whatever way it is written. */
interface Secret {
  what: string;
  places: string[];
  spellings: Buffer[];
}

describeOnLan('what a member keeps to itself', () => {
  let pool: LanPool;
  let listener: LanProcess;
  let secrets: Secret[];
  /** Arguments and environment of every process of the members, while they joined and afterwards. */
  const processes = new Map<number, Buffer>();

  beforeAll(async () => {
    pool = await LanPool.start({ members: 2, spare: 1 });
    const [ada, bob, spare] = [pool.member(1), pool.member(2), pool.machine(3)];
    listener = spare.start(process.execPath, [lanProgram('listenMulticast'), spare.ipv4]);
    await listener.says(/listening/);
    const looking = setInterval(lookAtProcesses, 50);
    await ada.run('create', 'Attic');
    const [used, open] = [await ada.invite(), await ada.invite()];
    await bob.join(used);
    await ada.exportAuthority(PASSPHRASE);
    await ada.run('rename', 'Lovelace');
    await ada.run('promote', 'bob');
    await pool.allSee('Lovelace alive', 'bob alive');
    await eventually(async () => expect(await bob.run('members')).toMatch(/bob.*admin/));
    clearInterval(looking);
    const homes = [ada.home, bob.home];
    secrets = [
      ...homes.map((home) => keySecret('a member key', [join(home, 'identity', 'key.pem')])),
      keySecret(
        'the CA key',
        homes.map((home) => join(home, 'pool', 'ca-key.pem')),
      ),
      ...homes.map((home) => textSecret('a local token', join(home, 'local-token'), /\S+/g)),
      textSecret('the keys of invites', join(ada.home, 'pool', 'invites.json'), /(?<="proofKey":")[0-9a-f]+/g),
      tokenSecret('a used invite', used),
      tokenSecret('an open invite', open),
      { what: 'the passphrase', places: [], spellings: [Buffer.from(PASSPHRASE)] },
    ];
  });

  afterAll(async () => {
    await pool.close();
  });

  /** The secrets that are in a text, by name. */
  function foundIn(text: Buffer): string[] {
    return secrets.filter(({ spellings }) => spellings.some((each) => text.includes(each))).map(({ what }) => what);
  }

  test('is found by this test where it lies', () => {
    for (const { what, places, spellings } of secrets) {
      expect(spellings.length).toBeGreaterThan(0);
      for (const path of places) expect(foundIn(readFileSync(path))).toContain(what);
    }
    expect(new Set(secrets.flatMap(({ places }) => places)).size).toBe(7);
  });

  test('is readable by its owner only, and lies in one place', async () => {
    for (const { home } of pool.members) {
      expect((await stat(home)).mode & 0o777).toBe(0o700);
      const entries = await readdir(home, { recursive: true, withFileTypes: true });
      expect(entries.length).toBeGreaterThan(10);
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name);
        expect({ path, mode: ((await stat(path)).mode & 0o777).toString(8) }).toEqual({
          path,
          mode: entry.isDirectory() ? '700' : '600',
        });
        if (!entry.isFile()) continue;
        const allowed = secrets.filter(({ places }) => places.includes(path)).map(({ what }) => what);
        expect({ path, found: foundIn(readFileSync(path)) }).toEqual({ path, found: allowed });
      }
    }
  });

  test('is not in what is said by multicast', async () => {
    const packets = listener.stdout().split('\n').slice(1, -1);
    const bytes = packets.map((line) => Buffer.from(line, 'base64'));
    expect(bytes.some((packet) => packet.includes('_roomful'))).toBe(true);
    for (const packet of bytes) {
      expect(foundIn(packet)).toEqual([]);
      for (const name of ['Attic', 'Lovelace', 'ada', 'bob']) expect(packet.includes(name)).toBe(false);
    }
  });

  test('is in no log, no output, no arguments and no environment of a process', async () => {
    for (const { home, process: own } of pool.members) {
      expect(foundIn(readFileSync(join(home, 'roomful.log')))).toEqual([]);
      expect(foundIn(Buffer.from(own.stdout() + own.stderr()))).toEqual([]);
    }
    lookAtProcesses();
    // The members, their hosts, and the commands that asked them.
    expect(processes.size).toBeGreaterThan(8);
    for (const text of processes.values()) expect(foundIn(text)).toEqual([]);
  });

  test('is in nothing that the API answers', async () => {
    for (const { machine, home } of pool.members) {
      const said = await machine.run(process.execPath, [lanProgram('askMember'), home, ...QUESTIONS, '/v1/models']);
      expect(said).toContain('Attic');
      expect(foundIn(Buffer.from(said))).toEqual([]);
    }
  });

  function lookAtProcesses(): void {
    const trees = pool.members.flatMap((member) => processTree(member.process.pid));
    for (const { pid } of [...trees, ...processesOf(pool.folder)]) {
      if (processes.has(pid)) continue;
      try {
        processes.set(pid, Buffer.concat(['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`))));
      } catch {
        // It has ended meanwhile.
      }
    }
  }
});

/** The private key of a PEM file, of which `places` are copies. */
function keySecret(what: string, places: string[]): Secret {
  const pem = readFileSync(places[0] ?? '', 'utf8');
  const { d = '' } = createPrivateKey(pem).export({ format: 'jwk' });
  // The first line of a key says only what kind it is.
  const lines = pem.split('\n').slice(2, -2);
  return {
    what,
    places,
    spellings: [...spellingsOf(Buffer.from(d, 'base64url')), ...lines.map((line) => Buffer.from(line))],
  };
}

/** Whatever matches in a file. */
function textSecret(what: string, path: string, pattern: RegExp): Secret {
  const words = readFileSync(path, 'utf8').match(pattern) ?? [];
  return { what, places: [path], spellings: words.map((word) => Buffer.from(word)) };
}

function tokenSecret(what: string, token: string): Secret {
  const [, payload = ''] = token.split(':');
  return {
    what,
    places: [],
    spellings: [Buffer.from(payload), ...spellingsOf(Buffer.from(parseInvite(token).secret))],
  };
}

function spellingsOf(secret: Buffer): Buffer[] {
  const texts = (['hex', 'base64', 'base64url'] as const).map((encoding) =>
    secret.toString(encoding).replace(/=+$/, ''),
  );
  return [secret, ...texts.map((text) => Buffer.from(text))];
}
