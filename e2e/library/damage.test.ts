import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { openModel } from '../../electron/gguf/openModel.ts';
import { type Member, startMember } from '../../electron/member.ts';
import type { ServeEvent } from '../../electron/pipeline/serving/serveEvents.ts';
import { foundPool } from '../../electron/pool/foundPool.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { flipByte } from '../slices/sliceRoom.ts';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';

const BAD = 'blk.5.ffn_up.weight';
const never = new AbortController().signal;
const sizes = { contextLength: 512, slots: 1 };
let folder: string;
let homes: { desk: string; shelf: string };
let members: Member[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-damage-'));
  homes = { desk: join(folder, 'desk'), shelf: join(folder, 'shelf') };
  members = [];
  await foundPool(join(folder, 'pool'), [homes.desk, homes.shelf]);
});
afterEach(async () => {
  for (const member of members) await member.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function start(home: string): Promise<Member> {
  const member = await startMember({
    home,
    name: basename(home),
    threads: 1,
    memoryBytes: 8e9,
    launcher: nodeLauncher,
  });
  members.push(member);
  return member;
}

async function stop(member: Member): Promise<void> {
  members = members.filter((each) => each !== member);
  await member.close();
}

const modelsOf = (member: Member) => member.api.call('library', {}).then(({ models }) => models);

/** Takes the demo model in on a member, and reads it whole. */
async function take(member: Member, path: string): Promise<string> {
  await copyFile(demoModelPath, path);
  await member.api.call('importModel', { path });
  return eventually(async () => {
    const [model] = await modelsOf(member);
    if (model === undefined || !model.hashed) throw new Error('It has not been hashed.');
    return model.id;
  });
}

const keptSchema = z.looseObject({ models: z.array(z.looseObject({ files: z.array(z.looseObject({})) })) });

/** Lets one byte decay so that the file system tells of no change, as a disk does it; no member may run. */
async function decay(home: string, path: string): Promise<void> {
  const at = (await openModel(path)).tensors.get(BAD)?.offset ?? 0;
  await flipByte(path, at + 2);
  const list = join(home, 'library', 'library.json');
  const kept = keptSchema.parse(JSON.parse(await readFile(list, 'utf8')));
  const notedAt = Number((await stat(path, { bigint: true })).ctimeNs / 1_000_000n);
  const models = kept.models.map((model) => ({ ...model, files: model.files.map((file) => ({ ...file, notedAt })) }));
  await writeFile(list, JSON.stringify({ ...kept, models }));
}

async function serve(member: Member, model: string, others: Member[]): Promise<ServeEvent[]> {
  const events: ServeEvent[] = [];
  const places = others.map(({ address, id }) => ({ address, id }));
  await member.models.serve({ model, members: places, ...sizes }, (event) => events.push(event), never);
  return events;
}

test('a byte that has decayed is found before a token is made, and named, also after a restart', async () => {
  const path = join(folder, 'model.gguf');
  let desk = await start(homes.desk);
  const id = await take(desk, path);
  await stop(desk);
  await decay(homes.desk, path);
  desk = await start(homes.desk);
  expect((await modelsOf(desk)).map(({ state }) => state)).toEqual(['ready']);
  await expect(serve(desk, id, [desk])).rejects.toThrow(new RegExp(`model\\.gguf is not what it was: ${BAD}`));
  expect(desk.models.list()).toEqual([]);
  expect(await modelsOf(desk)).toMatchObject([{ state: 'damaged', problem: expect.stringContaining(BAD) }]);
  await stop(desk);
  desk = await start(homes.desk);
  await expect(serve(desk, id, [desk])).rejects.toThrow(BAD);
}, 120_000);

test('what has decayed on one member comes from another, and is served there all the same', async () => {
  const [path, other] = [join(folder, 'model.gguf'), join(folder, 'other.gguf')];
  let desk = await start(homes.desk);
  const shelf = await start(homes.shelf);
  const id = await take(desk, path);
  expect(await take(shelf, other)).toBe(id);
  await stop(desk);
  await decay(homes.desk, path);
  desk = await start(homes.desk);
  const events = await serve(shelf, id, [desk]);
  const planned = events.flatMap((event) => (event.type === 'planned' ? event.placement : []));
  expect(planned).toMatchObject([{ startLayer: 0 }]);
  expect(await modelsOf(desk)).toMatchObject([{ state: 'damaged' }]);
  // All of it lies here again, and only what was damaged came over the network.
  const stage = join(homes.desk, 'slices', id, '0-12', 'stage.gguf');
  const { tensors } = await openModel(stage);
  const good = (await openModel(demoModelPath)).tensors;
  const [now, wanted] = [await readFile(stage), await readFile(demoModelPath)];
  for (const [name, { offset, byteLength }] of tensors) {
    const from = good.get(name)?.offset ?? 0;
    expect(now.subarray(offset, offset + byteLength).equals(wanted.subarray(from, from + byteLength)), name).toBe(true);
  }
}, 120_000);
