import { copyFile, open, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { cutStage } from '../../electron/gguf/cutStage.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { hashModel, weightsId } from '../../electron/library/modelHashes.ts';
import { SliceGate } from '../../electron/library/slices/sliceGate.ts';
import type { PaceSettings } from '../../electron/library/slices/slicePace.ts';
import type { StageFileStore } from '../../electron/library/slices/stageFileStore.ts';
import { StageFolders } from '../../electron/library/slices/stageFolders.ts';
import type { ModelHolder } from '../../electron/pipeline/forming/modelFiles.ts';
import { agreeing } from '../../electron/pipeline/placement/findHolders.ts';
import { generateModel } from '../models/generateModel.ts';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { contentId, flipByte, SliceRoom, tensorAt } from './sliceRoom.ts';

const BAD = 'blk.5.ffn_up.weight';
const never = new AbortController().signal;
let room: SliceRoom;
let path: string;
let model: string;

beforeEach(async () => {
  room = await SliceRoom.open();
  path = join(room.pool.home, 'model.gguf');
  await copyFile(demoModelPath, path);
  await utimes(path, 1e9, 1e9);
  model = await contentId(path);
});
afterEach(() => room.close());

const provide = (store: StageFileStore, startLayer: number, endLayer: number, holders: readonly ModelHolder[]) =>
  store.provide({ model, startLayer, endLayer, holders }, { signal: never });

/** A gate whose time passes only while something waits at it, or is made to. */
function virtualGate(settings: PaceSettings, isLoaded = false) {
  let time = 0;
  const rest = async (ms: number): Promise<void> => {
    const until = time + ms;
    await new Promise((resolve) => setImmediate(resolve));
    time = Math.max(time, until);
  };
  return {
    gate: new SliceGate({ settings: () => settings, isLoaded: () => isLoaded, clock: () => time, rest }),
    now: () => time,
    pass: (ms: number) => {
      time += ms;
    },
  };
}

/** Holds a stage's files against those that are cut from the whole model on one disk. */
async function expectCut(stage: string, start: number, end: number): Promise<void> {
  const judge = await cutStage(
    await openModel(demoModelPath),
    { start, end },
    join(room.pool.home, `judge-${start}-${end}.gguf`),
  );
  expect((await readFile(stage)).equals(await readFile(judge.path))).toBe(true);
  for (const [beside, name] of [
    [judge.embedding?.path, 'embedding'],
    [judge.vocabulary, 'vocabulary'],
  ] as const) {
    if (beside == null) continue;
    const own = stage.replace('stage.gguf', `${name}.gguf`);
    expect((await readFile(own)).equals(await readFile(beside))).toBe(true);
  }
}

test.each([
  [0, 4],
  [4, 8],
  [8, 12],
])('a stage of layers %i to %i is fetched as it would be cut', async (start, end) => {
  const holder = await room.holder(path, { recorded: start === 0 });
  const { store } = await room.store();
  const phases = new Set<string>();
  const lease = await store.provide(
    { model, startLayer: start, endLayer: end, holders: [holder] },
    { signal: never, onProgress: ({ phase }) => phases.add(phase) },
  );
  await expectCut(lease.file.path, start, end);
  expect([...phases]).toEqual(['fetching']);
  expect(room.problems).toEqual([]);
});

test('all layers are one file that holds the whole model, also of one in several files', async () => {
  const shape = { layers: 3, width: 64, heads: 2, kvHeads: 1, feedForward: 128, vocabulary: 300, tied: false, seed: 1 };
  const [whole = ''] = await generateModel(join(room.pool.home, 'one.gguf'), { architecture: 'llama', ...shape });
  const [shard = ''] = await generateModel(join(room.pool.home, 'set.gguf'), {
    architecture: 'llama',
    ...shape,
    shards: 3,
  });
  const { store } = await room.store();
  for (const each of [whole, shard]) {
    const holder = await room.holder(each);
    const request = { model: await contentId(each), startLayer: 0, endLayer: 3, holders: [holder] };
    const { file } = await store.provide(request, { signal: never });
    expect(file.role).toBe('whole');
    const [made, source] = [await openModel(file.path), await openModel(each)];
    expect([...made.tensors.keys()]).toEqual([...source.tensors.keys()]);
    expect(made.files).toHaveLength(1);
    if (each === whole) expect((await readFile(file.path)).equals(await readFile(whole))).toBe(true);
  }
});

test('several holders share the work; one that dies is done without', async () => {
  const asked = [0, 0];
  const count = (index: number) => () => {
    asked[index] = (asked[index] ?? 0) + 1;
  };
  const big = join(room.pool.home, 'big.gguf');
  const shape = {
    layers: 8,
    width: 512,
    heads: 8,
    kvHeads: 8,
    feedForward: 2048,
    vocabulary: 300,
    tied: true,
    seed: 1,
  };
  await generateModel(big, { architecture: 'llama', ...shape });
  const first = await room.holder(big, { tamper: count(0) });
  const second = await room.holder(big, { tamper: count(1) });
  const { store } = await room.store();
  let closing: Promise<void> | null = null;
  const request = { model: await contentId(big), startLayer: 0, endLayer: 4, holders: [first, second] };
  const lease = await store.provide(request, {
    signal: never,
    onProgress: ({ doneBytes, totalBytes }) => {
      if (doneBytes > totalBytes / 3) closing ??= first.close();
    },
  });
  await closing;
  expect(asked[0]).toBeGreaterThan(0);
  expect(asked[1]).toBeGreaterThan(0);
  const judge = await cutStage(await openModel(big), { start: 0, end: 4 }, join(room.pool.home, 'judge.gguf'));
  expect((await readFile(lease.file.path)).equals(await readFile(judge.path))).toBe(true);
});

test('a byte that flips on the way is found, named and fetched again', async () => {
  let flips = 1;
  const holder = await room.holder(path, {
    tamper: (tensor, offset, bytes) => {
      if (tensor !== BAD || offset !== 0 || flips === 0) return;
      flips -= 1;
      bytes[100] = (bytes[100] ?? 0) ^ 1;
    },
  });
  const { store } = await room.store();
  const lease = await provide(store, 4, 8, [holder]);
  await expectCut(lease.file.path, 4, 8);
  expect(room.problems).toEqual([
    expect.stringMatching(/^blk\.5\.ffn_up\.weight came damaged from \w+; it is fetched again\.$/),
  ]);
});

test('a byte that has flipped on the disk of a holder is named, and the tensor comes from another holder', async () => {
  const damaged = join(room.pool.home, 'damaged.gguf');
  await copyFile(path, damaged);
  await utimes(damaged, 1e9, 1e9);
  const bad = await room.holder(damaged);
  await flipByte(damaged, tensorAt(await openModel(path), BAD) + 3);
  const { store, folder } = await room.store();
  await expect(provide(store, 4, 8, [bad])).rejects.toThrow(
    `${BAD} is damaged on the disk of ${bad.member.slice(0, 8)}, and no member that is there has it whole: import the model again.`,
  );
  expect(store.list()).toEqual([]);
  const good = await room.holder(path);
  const lease = await provide((await room.store({}, folder)).store, 4, 8, [bad, good]);
  await expectCut(lease.file.path, 4, 8);
  expect(room.problems).toContainEqual(
    expect.stringContaining(`${BAD} is damaged on the disk of ${bad.member.slice(0, 8)}`),
  );
});

test('what no holder can give comes from a member that has received it for a stage; the holder hears of it', async () => {
  const damaged = join(room.pool.home, 'damaged-too.gguf');
  await copyFile(path, damaged);
  await utimes(damaged, 1e9, 1e9);
  const told: string[] = [];
  const bad = await room.holder(damaged, { onDamaged: (model) => told.push(model) });
  await flipByte(damaged, tensorAt(await openModel(path), BAD) + 3);

  const first = await room.store();
  await (await provide(first.store, 4, 6, [await room.holder(path)])).release();
  const elsewhere = await room.store();
  await (await provide(elsewhere.store, 0, 2, [await room.holder(path)])).release();
  const others = [
    { ...(await room.receiver(elsewhere.store)), name: 'has other layers' },
    { ...(await room.receiver(first.store)), name: 'has it' },
    { member: bad.member, addresses: bad.addresses, name: 'ada' },
  ];
  const { store } = await room.store({ others });
  const lease = await provide(store, 4, 8, [bad]);
  await expectCut(lease.file.path, 4, 8);
  expect(told[0]).toBe(await contentId(path));
  expect(room.problems).toContain(
    `${BAD} is damaged on the disk of ada, which checks its model now: import it there again.`,
  );

  // Where the part has decayed as well, it is not taken.
  const part = await openModel(join(first.folder, await contentId(path), '4-6', 'stage.gguf'));
  await flipByte(part.files[0]?.path ?? '', tensorAt(part, 'blk.1.ffn_up.weight') + 3);
  await expect(provide((await room.store({ others })).store, 4, 8, [bad])).rejects.toThrow(
    `${BAD} is damaged on the disk of ada, and no member that is there has it whole`,
  );
});

test('without a record two holders whose files differ are told apart by no guess', async () => {
  const other = join(room.pool.home, 'other.gguf');
  await copyFile(path, other);
  await utimes(other, 1e9, 1e9);
  await flipByte(other, tensorAt(await openModel(path), BAD) + 3);
  const holders = [await room.holder(path), await room.holder(other)];
  const { store } = await room.store();
  await expect(provide(store, 4, 8, holders)).rejects.toThrow(/blk\.5\.ffn_up\.weight is not the same on \w+ and \w+/);
});

test('a file that changed at the holder since is not taken for the model any more', async () => {
  const holder = await room.holder(path);
  await flipByte(path, tensorAt(await openModel(path), BAD), { openly: true });
  const { store } = await room.store();
  await expect(provide(store, 4, 8, [holder])).rejects.toThrow(/has changed or gone; import it there again/);
});

test.each([true, false])(
  'a byte that flips in a kept file is found, named and fetched again (seen openly: %s)',
  async (openly) => {
    const holder = await room.holder(path);
    const { store } = await room.store();
    const lease = await provide(store, 4, 8, [holder]);
    const { path: kept } = lease.file;
    await lease.release();
    const unit = (await openModel(kept)).tensors.get('blk.1.ffn_up.weight');
    await flipByte(kept, (unit?.offset ?? 0) + 5, { openly });
    if (openly) {
      const again = await provide(store, 4, 8, [holder]);
      await expectCut(again.file.path, 4, 8);
      return;
    }
    const checks = [];
    for await (const check of store.verify({ model, holders: [holder] }, never)) checks.push(check);
    expect(checks).toEqual([{ model, startLayer: 4, endLayer: 8, damaged: [BAD], repaired: true }]);
    await expectCut(kept, 4, 8);
    // Without a holder it is not given out, and whole again once there is one.
    await flipByte(kept, (unit?.offset ?? 0) + 5);
    const alone = [];
    for await (const check of store.verify({ model }, never)) alone.push(check);
    expect(alone).toEqual([{ model, startLayer: 4, endLayer: 8, damaged: [BAD], repaired: false }]);
    await expect(provide(store, 4, 8, [])).rejects.toThrow('No member has this model; import it again.');
    await expectCut((await provide(store, 4, 8, [holder])).file.path, 4, 8);
  },
);

test('a byte that has flipped in the kept header goes into no file, and the header is fetched again', async () => {
  const holder = await room.holder(path);
  const { store, folder } = await room.store();
  await (await provide(store, 4, 8, [holder])).release();
  const header = join(folder, model, 'header', '0.bin');
  const good = await readFile(header);
  // In the value of an entry, and in a name of the tokenizer.
  const places = [good.indexOf('attention.head_count') + 24, good.indexOf('tokenizer.ggml.tokens') + 60];
  for (const [index, at] of places.entries()) {
    await flipByte(header, at);
    const lease = await provide(store, 8 + index, 12, [holder]);
    await expectCut(lease.file.path, 8 + index, 12);
    expect((await readFile(header)).equals(good)).toBe(true);
    await lease.release();
  }
  await flipByte(header, places[0] ?? 0);
  const checks = [];
  for await (const check of store.verify({ model, holders: [holder] }, never)) checks.push(check.damaged);
  expect(checks).toEqual([[], [], []]);
  // A vocabulary is made from it too, and where nobody has the header there is none.
  const known = await store.headers.find(model, [holder], never);
  const vocabulary = join(room.pool.home, 'vocabulary.gguf');
  await flipByte(header, places[1] ?? 0);
  await expect(store.headers.writeVocabulary(known, vocabulary)).rejects.toThrow(/header is not what it was/);
  await expect(store.headers.find(model, [], never)).rejects.toThrow(/No member has this model/);
  await expect(readFile(vocabulary)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a header that a holder gives otherwise than it was is not taken, and another holder is asked', async () => {
  const bad = join(room.pool.home, 'bad-header.gguf');
  await copyFile(path, bad);
  await utimes(bad, 1e9, 1e9);
  const [rotten, sound] = [await room.holder(bad), await room.holder(path)];
  await flipByte(bad, 5000);
  const { store } = await room.store();
  await expectCut((await provide(store, 4, 8, [rotten, sound])).file.path, 4, 8);
});

test('a byte of a kept file that has flipped is found while it loads, named, and fetched again', async () => {
  const holder = await room.holder(path);
  const first = await room.store();
  await (await provide(first.store, 0, 4, [holder])).release();
  await (await provide(first.store, 8, 12, [holder])).release();
  await first.store.close();
  const inHeader = 100;
  const places: [start: number, name: string, at: number, named: RegExp][] = [
    [0, 'stage.gguf', -500, /layers 0 to 4 of roomful-demo-q8_0 on this disk is damaged: blk\.3\./],
    [0, 'stage.gguf', inHeader, /is damaged: header/],
    [0, 'embedding.gguf', -500, /is damaged: token_embd\.weight/],
    [8, 'vocabulary.gguf', 3000, /layers 8 to 12 of roomful-demo-q8_0 on this disk is damaged: header/],
  ];
  for (const [start, name, at, named] of places) {
    // As a member that starts finds it.
    const { store } = await room.store({}, first.folder);
    const file = join(first.folder, model, `${start}-${start + 4}`, name);
    await flipByte(file, at < 0 ? (await readFile(file)).byteLength + at : at);
    const lease = await provide(store, start, start + 4, [holder]);
    await expect(lease.check({ signal: never })).rejects.toThrow(named);
    await lease.release();
    const again = await provide(store, start, start + 4, [holder]);
    const read: number[] = [];
    await again.check({ signal: never, onProgress: (done) => read.push(done) });
    await expectCut(again.file.path, start, start + 4);
    // It was read when it was put right.
    expect(read).toEqual([]);
    await again.release();
    await store.close();
  }
  const { store } = await room.store({}, first.folder);
  const lease = await provide(store, 0, 4, []);
  const read: [number, number][] = [];
  await lease.check({ signal: never, onProgress: (done, total) => read.push([done, total]) });
  expect(read.at(-1)?.[0]).toBe(read.at(-1)?.[1]);
  const stopped = await room.store({}, first.folder);
  const stop = AbortSignal.abort(new Error('enough'));
  await expect((await provide(stopped.store, 0, 4, [])).check({ signal: stop })).rejects.toThrow('enough');
});

test('kept files of one content id and other weights are never given out for each other', async () => {
  const other = join(room.pool.home, 'other.gguf');
  await copyFile(path, other);
  await flipByte(other, tensorAt(await openModel(other), BAD) + 2);
  expect(await contentId(other)).toBe(model);
  const weights = async (of: string) => weightsId(await hashModel(await openModel(of), { signal: never }));
  const unread = await room.holder(path);
  const [first, second] = [
    { ...unread, weights: await weights(path) },
    { ...(await room.holder(other)), weights: await weights(other) },
  ];
  expect(agreeing([unread, first, second])).toEqual({ same: [unread, first], others: [second] });
  const { store } = await room.store();
  const bytesOf = async (holders: readonly ModelHolder[]): Promise<Buffer> => {
    const lease = await provide(store, 4, 8, holders);
    await lease.check({ signal: never });
    await lease.release();
    return readFile(lease.file.path);
  };
  // Made when nobody knew the weights yet; then they are asked for, and nothing is fetched anew.
  const made = await bytesOf([unread]);
  expect((await bytesOf([first])).equals(made)).toBe(true);
  await first.close();
  expect((await bytesOf([first])).equals(made)).toBe(true);
  const changed = await bytesOf([second]);
  expect(changed.byteLength).toBe(made.byteLength);
  expect(changed.reduce((count, byte, at) => count + Number(byte !== made[at]), 0)).toBe(1);
});

test('a record of which a byte has flipped decides nothing', async () => {
  const holder = await room.holder(path);
  const { store, folder } = await room.store();
  await (await provide(store, 0, 4, [holder])).release();
  await store.close();
  const record = join(folder, model, '0-4', 'record.json');
  const text = await readFile(record, 'utf8');
  await writeFile(record, text.replace('"scale":1', '"scale":3'));
  expect(await readFile(record, 'utf8')).not.toBe(text);
  const after = await room.store({}, folder);
  expect(after.store.list()).toEqual([]);
  const lease = await provide(after.store, 0, 4, [holder]);
  expect(lease.file.embedding?.scale).toBe(1);
  await expectCut(lease.file.path, 0, 4);
});

test('after the machine went down with the member kept files are checked before they are given out', async () => {
  const holder = await room.holder(path);
  const { store, folder } = await room.store();
  const { file } = await provide(store, 0, 4, [holder]);
  const unit = (await openModel(file.path)).tensors.get('blk.2.attn_q.weight');
  await flipByte(file.path, unit?.offset ?? 0);
  const running = await open(join(folder, 'running'), 'w');
  await running.writeFile('another-boot').finally(() => running.close());
  const after = await room.store({}, folder);
  const lease = await provide(after.store, 0, 4, [holder]);
  await expectCut(lease.file.path, 0, 4);
});

test('a new stage takes from kept ones what it can, and needs no holder for it', async () => {
  const holder = await room.holder(path);
  const { store } = await room.store();
  await provide(store, 0, 7, [holder]);
  await holder.close();
  const phases = new Set<string>();
  const request = { model, startLayer: 0, endLayer: 4, holders: [] };
  const lease = await store.provide(request, { signal: never, onProgress: ({ phase }) => phases.add(phase) });
  await expectCut(lease.file.path, 0, 4);
  expect([...phases]).toEqual(['cutting']);
});

test('a transfer that was broken off goes on where it was, also in a new store', async () => {
  const holder = await room.holder(path);
  const { store, folder } = await room.store();
  const stop = new AbortController();
  const request = { model, startLayer: 2, endLayer: 10, holders: [holder] };
  let reached = 0;
  const broken = store.provide(request, {
    signal: stop.signal,
    onProgress: ({ doneBytes, totalBytes }) => {
      reached = doneBytes;
      if (doneBytes > totalBytes / 2) stop.abort(new Error('enough'));
    },
  });
  await expect(broken).rejects.toThrow('enough');
  await store.close();
  const after = await room.store({}, folder);
  const seen: number[] = [];
  const lease = await after.store.provide(request, {
    signal: never,
    onProgress: ({ doneBytes }) => seen.push(doneBytes),
  });
  expect(seen[0]).toBeGreaterThanOrEqual(reached);
  await expectCut(lease.file.path, 2, 10);
});

test('kept files go by last use under the budget, never those that serve, and too small a budget says so', async () => {
  const holder = await room.holder(path);
  const sizes = await room.store();
  const sizeOf = async (start: number, end: number): Promise<number> => {
    const { release } = await provide(sizes.store, start, end, [holder]);
    await release();
    return sizes.store.list().find((each) => each.startLayer === start)?.bytes ?? 0;
  };
  const three = (await sizeOf(1, 3)) + (await sizeOf(3, 5)) + (await sizeOf(5, 7));
  const { store } = await room.store({ budget: Math.ceil(three * 1.1) });
  const kept = (): number[] =>
    store
      .list()
      .map(({ startLayer }) => startLayer)
      .sort((a, b) => a - b);
  const serving = await provide(store, 1, 3, [holder]);
  for (const start of [3, 5]) await (await provide(store, start, start + 2, [holder])).release();
  expect(kept()).toEqual([1, 3, 5]);
  // Used again, so the other one is older.
  await (await provide(store, 3, 5, [holder])).release();
  await (await provide(store, 7, 9, [holder])).release();
  expect(kept()).toEqual([1, 3, 7]);
  await expect(provide(store, 0, 11, [holder])).rejects.toThrow(
    /^The stage's files take .* more than the .* allow: raise/,
  );
  expect(kept()).toEqual([1, 3, 7]);
  await serving.release();
  await store.remove(model);
  expect(kept()).toEqual([]);
});

test('a budget that is lowered frees what is over it, and what was broken off is freed with the rest', async () => {
  const holder = await room.holder(path);
  const limit: { budget: number | undefined } = { budget: undefined };
  const { store, folder } = await room.store(limit);
  const serving = await provide(store, 1, 3, [holder]);
  for (const start of [3, 5]) await (await provide(store, start, start + 2, [holder])).release();
  const bytes = store.list().map((each) => each.bytes);
  expect(await store.keepBudget()).toBe(0);
  limit.budget = Math.ceil(((bytes[0] ?? 0) + (bytes[2] ?? 0)) * 1.1);
  expect(await store.keepBudget()).toBeGreaterThan(0);
  expect(store.list().map(({ startLayer }) => startLayer)).toEqual([1, 5]);
  limit.budget = 1;
  await store.keepBudget();
  expect(store.list().map(({ startLayer }) => startLayer)).toEqual([1]);
  await serving.release();
  await store.remove(model);

  limit.budget = undefined;
  const stop = new AbortController();
  const request = { model, startLayer: 2, endLayer: 10, holders: [holder] };
  const onProgress = ({ doneBytes, totalBytes }: { doneBytes: number; totalBytes: number }): void => {
    if (doneBytes > totalBytes / 2) stop.abort(new Error('enough'));
  };
  await expect(store.provide(request, { signal: stop.signal, onProgress })).rejects.toThrow('enough');
  expect(await readdir(join(folder, model, '2-10'))).not.toEqual([]);
  expect(store.list()).toEqual([]);
  expect(await store.called('roomful-demo')).toBe(model);
  expect(await store.remove(model)).toBeGreaterThan(0);
  await expect(readdir(join(folder, model))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('stages that are used within one millisecond keep their order', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const folders = await StageFolders.open(join(room.pool.home, 'order'));
    const made = await Promise.all(['3-5', '1-3', '2-3'].map((stage) => folders.make(`${model}/${stage}`)));
    for (const folder of [...made].reverse()) await folders.touch(folder);
    const kept = await folders.kept(() => false);
    const order = kept.sort((a, b) => a.usedAt - b.usedAt).map(({ key }) => key.slice(65));
    expect(order).toEqual(['2-3', '1-3', '3-5']);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  [1, 1e6],
  [3, 250_000],
])('%i receivers together get no more than a limit of %i bytes a second, and no less', async (receivers, limit) => {
  const { gate, now } = virtualGate({ bytesPerSecond: limit, loadedShare: 0.1 });
  let sent = 0;
  const tamper = (_: string, __: number, { byteLength }: Uint8Array): void => {
    sent += byteLength;
  };
  const holder = await room.holder(path, { gate, tamper });
  const stores = await Promise.all(Array.from({ length: receivers }, () => room.store({ patienceMs: 60_000 })));
  await Promise.all(stores.map(({ store }, index) => provide(store, index, index + 1, [holder])));
  expect(sent).toBeGreaterThan(receivers * 100_000);
  const allowed = (now() / 1000) * limit;
  // But for one block, which takes a tenth of a second.
  expect(sent - limit / 10).toBeLessThanOrEqual(allowed);
  // Headers go through the gate as well and are not counted here.
  expect(sent).toBeGreaterThan(allowed / 2);
});

test.each([0.1, 0.4])(
  'beside a stage that computes a holder serves for %d of the time, and sends one by one',
  async (share) => {
    const { gate, now, pass } = virtualGate({ bytesPerSecond: null, loadedShare: share }, true);
    const BLOCK_MS = 3;
    let blocks = 0;
    let largest = 0;
    // What a block costs this machine: read, encrypted and sent.
    const tamper = (_: string, __: number, { byteLength }: Uint8Array): void => {
      blocks += 1;
      largest = Math.max(largest, byteLength);
      pass(BLOCK_MS);
    };
    const holder = await room.holder(path, { gate, tamper });
    const stores = await Promise.all([room.store(), room.store()]);
    await Promise.all(stores.map(({ store }, index) => provide(store, index, index + 2, [holder])));
    expect(blocks).toBeGreaterThan(20);
    expect(largest).toBeLessThanOrEqual(64 * 1024);
    expect(((blocks - 1) * BLOCK_MS) / now()).toBeLessThanOrEqual(share * 1.01);
  },
);

test('nobody outside the roster gets a byte, and a holder that went away is told as such', async () => {
  const { store } = await room.store({ patienceMs: 500 });
  const closed = await room.holder(path, { admits: () => false });
  await expect(provide(store, 4, 8, [closed])).rejects.toThrow(/not in the pool/);
  const gone = await room.holder(path);
  await gone.close();
  await expect(provide(store, 4, 8, [gone])).rejects.toThrow(/No holder/);
});
