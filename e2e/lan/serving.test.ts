import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { talkativeModel } from '../models/talkativeModel.ts';
import { demoCorpus, demoDraftPath, demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { Lan } from './lan.ts';
import { LanMember } from './testing/lanMember.ts';
import { lanProgram } from './testing/lanProgram.ts';
import { OpenaiUser } from './testing/openaiUser.ts';

const NAMES = ['ada', 'bob', 'cyd'];
const DEMO = 'roomful-demo-q8_0';
const DRAFT = 'roomful-demo-draft-q8_0';
const servedSchema = z.object({
  model: z.string(),
  pipelines: z.array(z.object({ hops: z.number(), placement: z.array(z.object({ member: z.string() })) })),
});
const pipelinesSchema = z.array(
  z.object({
    modelId: z.string(),
    state: z.string(),
    reason: z.string().nullable(),
    lastTokensPerSecond: z.number().nullable(),
    driver: z.object({ name: z.string() }),
    placement: z.array(z.object({ member: z.string() })),
  }),
);
const waysSchema = z.array(z.object({ member: z.string(), rttMs: z.number(), bytesPerSecond: z.number() }));
const [known] = demoCorpus();
const question = known?.questions[0] ?? '';

/** One pool for all tests, which build on each other: its members take a while to start. */
describeOnLan('serving in a pool', () => {
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  let folder: string;
  let lan: Lan;
  let members: LanMember[];
  let users: OpenaiUser[];
  /** The admin. */
  let ada: LanMember;
  /** Leads; a busy machine may have changed that while they joined. */
  let lead: LanMember;
  /** Neither leads nor is the admin. */
  let other: LanMember;
  let third: LanMember;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-serving-'));
    lan = await Lan.create(3);
    members = lan.machines.map((machine, index) => {
      const name = NAMES[index] ?? '';
      return new LanMember(name, machine, join(folder, name));
    });
    // llama.cpp spins while it waits, and three members have two cores here.
    await Promise.all(members.map((member) => member.up('--threads', '1')));
    ada = called('ada');
    await ada.run('create', 'Attic');
    for (const name of ['bob', 'cyd']) await called(name).join(await ada.invite());
    for (const by of members) await by.sees('ada alive', 'bob alive', 'cyd alive');
    lead = await eventually(() => {
      const [one, ...more] = new Set(members.map((by) => by.leader()));
      const found = members.find(({ id }) => id === one);
      if (found === undefined || more.length > 0) throw new Error('They do not follow one leader.');
      return found;
    });
    other = called(lead.name === 'cyd' ? 'bob' : 'cyd');
    third = called(NAMES.find((name) => name !== lead.name && name !== other.name) ?? '');
    users = await Promise.all(members.map(({ machine, gateway }) => OpenaiUser.start(machine, gateway)));
  });

  afterAll(async () => {
    await lan.close();
    await rm(folder, { recursive: true, force: true });
  });

  const called = (name: string): LanMember => {
    const found = members.find((member) => member.name === name);
    if (found === undefined) throw new Error(`There is no member ${name}`);
    return found;
  };
  const user = (member: LanMember): OpenaiUser => {
    const found = users[members.indexOf(member)];
    if (found === undefined) throw new Error(`${member.name} has no user`);
    return found;
  };
  const serve = async (by: LanMember, ...args: string[]) =>
    servedSchema.parse(JSON.parse(await by.run('serve', ...args, '--json')));
  const pipelines = async (by: LanMember) => pipelinesSchema.parse((await by.status()).pipelines);
  const listed = (by: readonly LanMember[], models: string[]): Promise<void> =>
    eventually(async () => {
      const seen = await Promise.all(by.map(async (member) => (await user(member).models()).sort()));
      expect(seen).toEqual(by.map(() => models));
    });

  test('each tells the others how far it is from everybody, so that the leader can plan with it', async () => {
    const { members: known } = await lead.status();
    for (const { id, address } of known) {
      const others = known.flatMap((each) => (each.id === id ? [] : [each.id])).sort();
      await eventually(async () => {
        const asking = [lanProgram('waysOf'), third.home, id, address ?? ''];
        const ways = waysSchema.parse(JSON.parse(await third.machine.run(process.execPath, asking)));
        expect(ways.map(({ member }) => member).sort()).toEqual(others);
      });
    }
  });

  test('a member serves what lies on its disk, the leader plans it, and every gateway answers', async () => {
    const list = `${other.name},${lead.name}`;
    const served = await serve(third, demoModelPath, '--force', 'cluster', '--members', list, '--alias', 'helper');
    expect(served).toMatchObject({ model: DEMO, pipelines: [{ hops: 1 }] });
    expect(served.pipelines[0]?.placement.map(({ member }) => member)).toEqual([other.name, lead.name]);
    // Every gateway knows it as soon as `serve` has returned.
    for (const by of members) expect(await user(by).models()).toEqual([DEMO]);
    const names = [DEMO, 'roomful-demo', 'helper'];
    const answers = members.map((by, index) =>
      user(by)
        .ask(names[index] ?? '', question)
        .ended(),
    );
    for (const { text, finish } of await Promise.all(answers)) {
      expect(text).toBe(known?.answer);
      expect(finish).toBe('stop');
    }
    for (const by of members) {
      expect(await pipelines(by)).toMatchObject([{ modelId: DEMO, state: 'serving', driver: { name: lead.name } }]);
    }
    await expect(serve(other, demoModelPath)).rejects.toThrow(/served already/);
  });

  test('a second model beside it, whole on one member that then drives it itself', async () => {
    const served = await serve(third, demoDraftPath, '--force', 'single', '--members', other.name);
    expect(served).toMatchObject({ model: DRAFT, pipelines: [{ hops: 0, placement: [{ member: other.name }] }] });
    await listed(members, [DRAFT, DEMO]);
    const driver = (await pipelines(third)).find(({ modelId }) => modelId === DRAFT)?.driver.name;
    expect(driver).toBe(other.name);
    const [here, there] = await Promise.all([other, third].map((by) => user(by).ask(DRAFT, question).ended()));
    expect(here).toEqual(there);
    expect((await user(third).ask(DEMO, question).ended()).text).toBe(known?.answer);
  });

  test('whoever is stopped ends what it has begun, takes nothing new, and is gone everywhere', async () => {
    const talkative = await talkativeModel(folder);
    const { model } = await serve(third, talkative, '--slots', '1');
    const running = user(third).ask(model, 'Talk to me.', 3500);
    await running.more();
    const stopping = other.run('stop', model, '--drain', '600');
    await eventually(async () => {
      const now = (await pipelines(lead)).find(({ modelId }) => modelId === model);
      expect(now?.state).toBe('draining');
    });
    await expect(user(lead).ask(model, 'Talk to me.').ended()).rejects.toThrow(/being stopped/);
    await running.more();
    running.leave();
    await stopping;
    await listed(members, [DRAFT, DEMO]);
    await expect(user(lead).ask(model, 'Talk to me.').ended()).rejects.toThrow(/404/);
  });

  test('a client that leaves gives its seat back, wherever its gateway is', async () => {
    const { model } = await serve(other, join(folder, 'talkative.gguf'), '--slots', '1', '--context', '2048');
    const leaving = user(third).ask(model, 'Talk to me.', 1800);
    await leaving.more();
    const waiting = user(other).ask(model, 'Talk to me.', 3);
    leaving.leave();
    expect((await waiting.ended()).finish).toBe('length');
    await other.run('stop', model);
  });

  test('what one member has asked for any other one takes back, in the middle of its transfer', async () => {
    // So slow that it is still under way when it is stopped.
    await third.run('limits', '--bandwidth', '100KB');
    for (const [members, seed] of [
      [[lead.name], 2],
      [[other.name], 3],
      [[other.name, lead.name], 4],
    ] as const) {
      const path = await talkativeModel(folder, `model-${seed}`, seed);
      const model = `random-llama-${seed}-f32`;
      const force = members.length === 1 ? 'single' : 'cluster';
      const asking = serve(third, path, '--members', members.join(','), '--force', force).then(
        () => 'served',
        (cause: Error) => cause.message,
      );
      const ofModel = async (by: LanMember) => {
        return (await pipelines(by)).filter(({ modelId, state }) => modelId === model && state !== 'stopped');
      };
      for (const by of [lead, other]) {
        await eventually(async () => expect(await ofModel(by)).toMatchObject([{ state: 'fetching' }]));
      }
      await (seed === 3 ? lead : other).run('stop', model);
      expect(await asking).toMatch(/stopped/);
      for (const by of [lead, other, third]) await eventually(async () => expect(await ofModel(by)).toEqual([]));
    }
    await third.run('limits', '--bandwidth', 'none');
    await listed(members, [DRAFT, DEMO]);
  });

  test('requests go to the pipeline with the fewest of them', async () => {
    const talkative = join(folder, 'talkative.gguf');
    const served = await serve(third, talkative, '--slots', '1', '--force', 'single', '--replicas', '2');
    expect(served.pipelines.map(({ hops }) => hops)).toEqual([0, 0]);
    const { model } = served;
    const asked = [0, 1].map(() => user(third).ask(model, 'Talk to me.', 40));
    for (const each of asked) expect((await each.ended()).finish).toBe('length');
    await eventually(async () => {
      const both = (await pipelines(lead)).filter(({ modelId }) => modelId === model);
      expect(both.map(({ lastTokensPerSecond }) => lastTokensPerSecond)).toEqual([
        expect.any(Number),
        expect.any(Number),
      ]);
    });
    await third.run('stop', model);
  });

  test('what a member drives serves on without the leader; what the leader drove is gone, with the reason', async () => {
    await lead.kill();
    const left = [other, third];
    for (const by of left) await by.sees(...NAMES.map((name) => `${name} ${name === lead.name ? 'lost' : 'alive'}`));
    await listed(left, [DRAFT]);
    expect((await user(third).ask(DRAFT, question).ended()).finish).toBe('stop');
    const lost = (await pipelines(other)).find(({ modelId }) => modelId === DEMO);
    expect(lost).toMatchObject({ state: 'failed', reason: expect.stringContaining(`${lead.name}, which drove`) });
    await expect(user(other).ask(DEMO, question).ended()).rejects.toThrow(/503.*is lost/);
    await eventually(() =>
      expect(left.map((by) => by.leader()).every((id) => left.some((by) => by.id === id))).toBe(true),
    );
    expect(await serve(other, demoModelPath, '--members', other.name)).toMatchObject({ model: DEMO });
    await listed(left, [DRAFT, DEMO]);
  });

  test('what a removed member drove is gone, with the reason', async () => {
    await lead.up('--threads', '1');
    for (const by of members) await by.sees('ada alive', 'bob alive', 'cyd alive');
    await ada.run('remove', other.name);
    await listed([third], []);
    await expect(user(third).ask(DRAFT, question).ended()).rejects.toThrow(/503.*no longer in the pool/);
  });
});
