import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { demoCorpus, demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { Lan } from './lan.ts';
import { LanMember } from './testing/lanMember.ts';

const NAMES = ['ada', 'bob', 'cyd'];
const MODEL = 'roomful-demo-q8_0';

describeOnLan('serving in a pool', () => {
  vi.setConfig({ testTimeout: 240_000 });
  let folder: string;
  let lan: Lan;
  let members: LanMember[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-serving-'));
  });

  afterEach(async () => {
    await lan.close();
    await rm(folder, { recursive: true, force: true });
  });

  function member(number: number): LanMember {
    const found = members[number - 1];
    if (found === undefined) throw new Error(`There is no member ${number}`);
    return found;
  }

  /** A pool of three that share so much each, the first leading. */
  async function start(memory: string): Promise<[LanMember, LanMember, LanMember]> {
    lan = await Lan.create(3);
    members = lan.machines.map((machine, index) => {
      const name = NAMES[index] ?? '';
      return new LanMember(name, machine, join(folder, name));
    });
    const [ada, bob, cyd] = [member(1), member(2), member(3)];
    await ada.up('--memory', memory);
    await ada.run('create', 'Attic');
    for (const other of [bob, cyd]) {
      await other.up('--memory', memory);
      await other.run('join', await ada.invite());
    }
    for (const by of members) await by.sees('ada alive', 'bob alive', 'cyd alive');
    await eventually(() => expect(members.map((by) => by.leader())).toEqual([ada.id, ada.id, ada.id]));
    return [ada, bob, cyd];
  }

  test('from one member, through another, and stopped from the third', async () => {
    const [ada, bob, cyd] = await start('1GB');
    const served = JSON.parse(await bob.run('serve', demoModelPath, '--json', '--force', 'cluster'));
    expect(served).toMatchObject({ model: MODEL, pipelines: [{ hops: 1 }] });
    const [known] = demoCorpus();
    expect(await cyd.ask(MODEL, known?.questions[0] ?? '')).toBe(known?.answer);
    expect(await ada.ask('roomful-demo', known?.questions[0] ?? '')).toBe(known?.answer);
    await cyd.run('stop', MODEL);
    for (const by of members) await eventually(async () => expect(await by.models()).toEqual([]));
  });
});
