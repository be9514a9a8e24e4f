import { readFile, truncate, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cutStage, type StageFile } from '../gguf/cutStage.ts';
import { openModel } from '../gguf/openModel.ts';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeLoadOptions, NativeRun, NativeStage, NativeStep } from './nativeAddon.ts';
import type { NativeErrorCode } from './nativeErrorCode.ts';
import { demoOptions, demoPath, demoWidth, greedy } from './testing/demoModel.ts';

const { addon, libraries } = loadAddon();
const folder = temporaryFolder();
let first: StageFile;
let last: StageFile;
beforeAll(async () => {
  await folder.make();
  const model = await openModel(demoPath);
  first = await cutStage(model, { start: 0, end: 1 }, folder.at('first.gguf'));
  last = await cutStage(model, { start: 11, end: 12 }, folder.at('last.gguf'));
});
afterAll(folder.remove);

function load(changes: Partial<NativeLoadOptions> = {}): Promise<NativeStage> {
  return addon.loadStage(demoOptions(changes), () => undefined);
}

function failure(code: NativeErrorCode, message: RegExp) {
  return expect.objectContaining({ code, message: expect.stringMatching(message) });
}

describe('loading fails with the cause', () => {
  it('for a file that is not a GGUF', async () => {
    const path = folder.at('text.gguf');
    await writeFile(path, 'this is no model at all, but a line of text');
    await expect(load({ path })).rejects.toEqual(failure('LoadFailed', /text\.gguf.*invalid magic/));
    await expect(addon.loadVocabulary(path)).rejects.toEqual(failure('LoadFailed', /text\.gguf.*invalid magic/));
  });

  it('for a file that is missing, with an umlaut and a line break in its name', async () => {
    await expect(load({ path: folder.at('fäh\nlt.gguf') })).rejects.toEqual(failure('LoadFailed', /No such file/));
  });

  it('for a truncated file', async () => {
    const path = folder.at('short.gguf');
    await writeFile(path, await readFile(demoPath));
    await truncate(path, 3_000_000);
    await expect(load({ path })).rejects.toEqual(failure('LoadFailed', /corrupted or incomplete/));
  });

  it('for a missing tensor, which it names', async () => {
    const path = folder.at('renamed.gguf');
    const bytes = await readFile(demoPath);
    bytes.write('blk.3.attn_x', bytes.indexOf('blk.3.attn_q.weight'));
    await writeFile(path, bytes);
    await expect(load({ path })).rejects.toEqual(failure('LoadFailed', /tensor 'blk\.3\.attn_q\.weight' not found/));
  });
});

describe('a file that does not fit its role is refused', () => {
  it.each([
    ['a stage without head as the last', () => ({ path: first.path, layers: 1, role: 'last' }), /without a head/],
    ['a stage without head as a whole model', () => ({ path: first.path, layers: 1 }), /without a head/],
    ['a stage with a head in the middle', () => ({ path: last.path, layers: 1, role: 'middle' }), /has a head/],
    ['another number of layers', () => ({ path: last.path, layers: 2, role: 'last' }), /holds 1 layers, not 2/],
    ['a first stage without embedding', () => ({ path: first.path, layers: 1, role: 'first' }), /embedding/],
    ['an embedding elsewhere', () => ({ embedding: first.embedding }), /embedding/],
  ] as const)('%s', async (_, changes, message) => {
    await expect(load(changes())).rejects.toEqual(failure('BadArgument', message));
  });

  it.each([
    ['reaches beyond its file', { rows: 1 << 29 }, 'BadArgument', /beyond the end/],
    ['has an offset beyond its file', { offset: 2 ** 40 }, 'BadArgument', /beyond the end/],
    ['has a width of its own', { columns: 64 }, 'BadArgument', /64 columns.*takes 192/],
    ['has a type without values', { type: 4 }, 'BadArgument', /type 4/],
    ['is not there', { path: 'nowhere.gguf' }, 'LoadFailed', /nowhere\.gguf/],
  ] as const)('an embedding that %s', async (_, changes, code, message) => {
    if (first.embedding === null) throw new Error('the first stage has an embedding');
    const { path, layers, role } = first;
    const embedding = { ...first.embedding, ...changes };
    await expect(load({ path, layers, role, embedding })).rejects.toEqual(failure(code, message));
  });
});

describe('load options are checked', () => {
  it.each([
    [{ batch: 0 }, /options\.batch.*from 1/],
    [{ batch: 1.5 }, /options\.batch/],
    [{ contextLength: -1 }, /options\.contextLength/],
    [{ contextLength: 2 ** 30 }, /options\.contextLength/],
    [{ slots: 257 }, /options\.slots.*to 256/],
    [{ threads: 0 }, /options\.threads/],
    [{ gpuLayers: Number.NaN }, /options\.gpuLayers/],
    [{ maxOutputs: 0 }, /options\.maxOutputs/],
    [{ gpuLayers: 1, device: 'GPU of my dreams' }, /GPU of my dreams/],
    [{ role: 'lead' as 'last' }, /options\.role.*'whole', 'first', 'middle', 'last'/],
    [{ kvType: 'f64' as 'f16' }, /options\.kvType/],
    [{ path: 1 as unknown as string }, /options\.path/],
  ])('%o', async (changes, message) => {
    await expect(load(changes)).rejects.toEqual(failure('BadArgument', message));
  });

  it('anything but options at all', async () => {
    const loadStage = addon.loadStage as (...args: unknown[]) => Promise<unknown>;
    await expect(loadStage(null, () => undefined)).rejects.toEqual(failure('BadArgument', /options/));
    await expect(loadStage(demoOptions())).rejects.toEqual(failure('BadArgument', /onProgress/));
    await expect(loadStage(demoOptions(), () => undefined, {})).rejects.toEqual(failure('BadArgument', /signal/));
  });
});

describe('a step that cannot be right is refused and changes nothing', () => {
  let whole: NativeStage;
  let tail: NativeStage;
  let head: NativeStage;
  beforeAll(async () => {
    whole = await load({ contextLength: 256, batch: 100, slots: 2, maxOutputs: 1 });
    const { path, layers, role } = last;
    tail = await load({ path, layers, role });
    const { embedding } = first;
    head = await load({ path: first.path, layers: 1, role: 'first', embedding });
  });
  afterAll(() => Promise.all([whole, tail, head].map((stage) => stage.unload())));

  const run = (changes: Partial<NativeRun> = {}): NativeRun => ({
    slot: 0,
    start: 0,
    tokens: Int32Array.of(5, 6, 7),
    truncateTo: 0,
    sampling: null,
    ...changes,
  });
  const step = (changes: Partial<NativeStep> = {}): NativeStep => ({
    runs: [run()],
    input: null,
    output: null,
    outputFormat: 'f32',
    ...changes,
  });
  const f32 = (rows: number) => ({ format: 'f32' as const, bytes: new Uint8Array(rows * demoWidth * 4) });

  it.each<[string, () => NativeStage, NativeStep, RegExp]>([
    ['a slot out of range', () => whole, step({ runs: [run({ slot: 2 })] }), /slot.*from 0 to 1/],
    ['a negative slot', () => whole, step({ runs: [run({ slot: -1 })] }), /slot/],
    ['the same slot twice', () => whole, step({ runs: [run(), run()] }), /two runs of slot 0/],
    ['no runs', () => whole, step({ runs: [] }), /no runs/],
    ['a gap', () => whole, step({ runs: [run({ start: 1 })] }), /slot 0 holds 0 tokens.*position 1/],
    ['a token above the vocabulary', () => whole, step({ runs: [run({ tokens: Int32Array.of(1536) })] }), /1536/],
    ['a negative token', () => whole, step({ runs: [run({ tokens: Int32Array.of(-1) })] }), /token -1/],
    [
      'a token above the embedding',
      () => head,
      step({ runs: [run({ tokens: Int32Array.of(1536) })], output: f32(1).bytes }),
      /1536/,
    ],
    [
      'more tokens than a batch',
      () => whole,
      step({ runs: [run({ tokens: new Int32Array(101) })] }),
      /101 tokens.*100/,
    ],
    [
      'sampling after nothing',
      () => whole,
      step({ runs: [run({ tokens: new Int32Array(0), sampling: greedy })] }),
      /no tokens/,
    ],
    [
      'sampling on a first stage',
      () => head,
      step({ runs: [run({ sampling: greedy })], output: f32(3).bytes }),
      /last stage/,
    ],
    ['a seed of 65 bits', () => whole, step({ runs: [run({ sampling: { ...greedy, seed: 1n << 64n } })] }), /seed/],
    ['a negative seed', () => whole, step({ runs: [run({ sampling: { ...greedy, seed: -1n } })] }), /seed/],
    [
      'a negative temperature',
      () => whole,
      step({ runs: [run({ sampling: { ...greedy, temperature: -1 } })] }),
      /temperature/,
    ],
    ['a topP above 1', () => whole, step({ runs: [run({ sampling: { ...greedy, topP: 1.1 } })] }), /topP/],
    ['activations for a whole model', () => whole, step({ input: f32(3) }), /computes from tokens/],
    ['no activations for a last stage', () => tail, step(), /needs an input/],
    ['too few activations', () => tail, step({ input: f32(2) }), /1536 bytes, not 2304/],
    ['f16 said to be f32', () => tail, step({ input: { ...f32(3), format: 'f16' } }), /2304 bytes, not 1152/],
    ['an output buffer for a last stage', () => tail, step({ input: f32(3), output: f32(3).bytes }), /gives tokens/],
    ['no output buffer for a first stage', () => head, step(), /needs an output buffer/],
    [
      'an output buffer that only f16 fits',
      () => head,
      step({ output: new Uint8Array(3 * demoWidth * 2), outputFormat: 'f16' }),
      /it needs 2304/,
    ],
    [
      'tokens of another type',
      () => whole,
      step({ runs: [run({ tokens: [1] as unknown as Int32Array })] }),
      /Int32Array/,
    ],
  ])('%s', async (_, stage, bad, message) => {
    await expect(stage().decode(bad)).rejects.toEqual(failure('BadArgument', message));
  });

  it('positions that leave a gap after a truncation', async () => {
    await whole.decode(step());
    const gap = step({ runs: [run({ start: 3, truncateTo: 2 })] });
    await expect(whole.decode(gap)).rejects.toEqual(failure('BadArgument', /holds 2 tokens.*position 3/));
    // The refused step did not truncate: the slot still holds three tokens.
    await whole.decode(step({ runs: [run({ start: 3, truncateTo: null })] }));
  });

  it('a slot that has no room, whatever room others have', async () => {
    const fill = (slot: number, start: number, count: number) =>
      whole.decode(step({ runs: [run({ slot, start, tokens: new Int32Array(count), truncateTo: start })] }));
    await fill(0, 0, 100);
    await fill(0, 100, 100);
    await expect(fill(0, 200, 57)).rejects.toEqual(failure('DecodeFailed', /256 tokens.*no room/));
    await fill(0, 200, 56);
    await fill(1, 0, 100);
  });

  it('bookkeeping of slots that are not there or prefixes that are not held', async () => {
    await expect(whole.closeSlot(2)).rejects.toEqual(failure('BadArgument', /slot/));
    await expect(whole.truncate(0, -1)).rejects.toEqual(failure('BadArgument', /position/));
    await expect(whole.copyPrefix(0, 0, 0)).rejects.toEqual(failure('BadArgument', /different slots/));
    await whole.closeSlot(0);
    await expect(whole.copyPrefix(0, 1, 1)).rejects.toEqual(failure('BadArgument', /holds 0 tokens/));
    await whole.truncate(0, 100);
  });
});

describe('the libraries', () => {
  it('are opened from one folder only', () => {
    addon.open(libraries.folder);
    expect(() => addon.open(folder.at('.'))).toThrow(failure('BadArgument', /already uses/));
  });
});
