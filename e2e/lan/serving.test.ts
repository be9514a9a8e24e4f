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
    driver: z.object({ name: z.string() }),
    placement: z.array(z.object({ member: z.string() })),
  }),
);
const [known] = demoCorpus();
const question = known?.questions[0] ?? '';

/** One pool for all tests, which build on each other: its members take a while to start. */
describeOnLan('serving in a pool', () => {
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  let folder: string;
  let lan: Lan;
  let members: LanMember[];
  let users: OpenaiUser[];
  let ada: LanMember;
  let bob: LanMember;
  let cyd: LanMember;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-serving-'));
    lan = await Lan.create(3);
    members = lan.machines.map((machine, index) => {
      const name = NAMES[index] ?? '';
      return new LanMember(name, machine, join(folder, name));
    });
    const [first, second, third] = members;
    if (first === undefined || second === undefined || third === undefined) throw new Error('three members');
    [ada, bob, cyd] = [first, second, third];
    // llama.cpp spins while it waits, and three members have two cores here.
    await Promise.all(members.map((member) => member.up('--threads', '1')));
    await ada.run('create', 'Attic');
    for (const other of [bob, cyd]) await other.join(await ada.invite());
    for (const by of members) await by.sees('ada alive', 'bob alive', 'cyd alive');
    await eventually(() => expect(members.map((by) => by.leader())).toEqual([ada.id, ada.id, ada.id]));
    users = await Promise.all(members.map(({ machine, gateway }) => OpenaiUser.start(machine, gateway)));
  });

  afterAll(async () => {
    await lan.close();
    await rm(folder, { recursive: true, force: true });
  });

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

  test('a member serves what lies on its disk, the leader plans it, and every gateway answers', async () => {
    const served = await serve(bob, demoModelPath, '--force', 'cluster', '--members', 'cyd,bob', '--alias', 'helper');
    expect(served).toMatchObject({ model: DEMO, pipelines: [{ hops: 1 }] });
    expect(served.pipelines[0]?.placement.map(({ member }) => member)).toEqual(['cyd', 'bob']);
    await listed(members, [DEMO]);
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
      expect(await pipelines(by)).toMatchObject([{ modelId: DEMO, state: 'serving', driver: { name: 'ada' } }]);
    }
    await expect(serve(cyd, demoModelPath)).rejects.toThrow(/served already/);
  });

  test('a second model beside it, whole on one member that then drives it itself', async () => {
    const served = await serve(ada, demoDraftPath, '--force', 'single', '--members', 'cyd');
    expect(served).toMatchObject({ model: DRAFT, pipelines: [{ hops: 0, placement: [{ member: 'cyd' }] }] });
    await listed(members, [DRAFT, DEMO]);
    const driver = (await pipelines(bob)).find(({ modelId }) => modelId === DRAFT)?.driver.name;
    expect(driver).toBe('cyd');
    const [one, other] = await Promise.all([bob, cyd].map((by) => user(by).ask(DRAFT, question).ended()));
    expect(one).toEqual(other);
    expect((await user(ada).ask(DEMO, question).ended()).text).toBe(known?.answer);
  });

  test('whoever is stopped ends what it has begun, takes nothing new, and is gone everywhere', async () => {
    const talkative = await talkativeModel(folder);
    const { model } = await serve(ada, talkative, '--slots', '1');
    const running = user(bob).ask(model, 'Talk to me.', 150);
    await running.begun();
    const stopping = cyd.run('stop', model, '--drain', '600');
    await eventually(async () => {
      const now = (await pipelines(bob)).find(({ modelId }) => modelId === model);
      expect(now?.state).toBe('draining');
    });
    await expect(user(ada).ask(model, 'Talk to me.').ended()).rejects.toThrow(/being stopped/);
    const { finish } = await running.ended();
    expect(finish).toBe('length');
    await stopping;
    await listed(members, [DRAFT, DEMO]);
    await expect(user(ada).ask(model, 'Talk to me.').ended()).rejects.toThrow(/404/);
  });

  test('a client that leaves gives its seat back, wherever its gateway is', async () => {
    const { model } = await serve(cyd, join(folder, 'talkative.gguf'), '--slots', '1', '--context', '2048');
    const leaving = user(bob).ask(model, 'Talk to me.', 1800);
    await leaving.begun();
    const waiting = user(cyd).ask(model, 'Talk to me.', 3);
    leaving.leave();
    expect((await waiting.ended()).finish).toBe('length');
    await cyd.run('stop', model);
  });

  test('what a member drives serves on without the leader; what the leader drove is gone, with the reason', async () => {
    await ada.kill();
    for (const by of [bob, cyd]) await by.sees('ada lost', 'bob alive', 'cyd alive');
    await listed([bob, cyd], [DRAFT]);
    expect((await user(bob).ask(DRAFT, question).ended()).finish).toBe('stop');
    const lost = (await pipelines(cyd)).find(({ modelId }) => modelId === DEMO);
    expect(lost).toMatchObject({ state: 'failed', reason: expect.stringMatching(/ada.*is lost/) });
    await expect(user(cyd).ask(DEMO, question).ended()).rejects.toThrow(/503.*ada.*is lost/);
    const again = await serve(cyd, demoModelPath);
    expect(again).toMatchObject({ model: DEMO });
    await listed([bob, cyd], [DRAFT, DEMO]);
  });
});
