import { createHash } from 'node:crypto';
import { appendFile, open, readFile, rename } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { generateModel } from '../../e2e/models/generateModel.ts';
import { modelFingerprint } from '../gguf/modelFingerprint.ts';
import { openModel } from '../gguf/openModel.ts';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { encodeModelHashes, hashModel, modelHashesSchema } from './modelHashes.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

const shape = { layers: 3, width: 64, heads: 2, kvHeads: 1, feedForward: 128, vocabulary: 4000, tied: false } as const;
const make = (name: string, shards = 1) =>
  generateModel(folder.at(`${name}.gguf`), { architecture: 'llama', ...shape, seed: 1, shards });
const never = new AbortController().signal;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

it.each([1, 3])('hashes files and tensors of a model in %i files', async (shards) => {
  const paths = await make(`hashed-${shards}`, shards);
  const model = await openModel(paths.at(-1) ?? '');
  const seen: number[] = [];
  const hashes = await hashModel(model, { signal: never, onProgress: (bytes) => seen.push(bytes), share: () => 0.5 });
  const files = await Promise.all(paths.map((path) => readFile(path)));
  expect(hashes.model).toBe(modelFingerprint(model));
  expect(hashes.files).toEqual(files.map(sha256));
  expect([...hashes.tensors.keys()]).toEqual([...model.tensors.keys()]);
  for (const { name, file, offset, byteLength } of model.tensors.values()) {
    expect(hashes.tensors.get(name)).toBe(
      sha256(files[file]?.subarray(offset, offset + byteLength) ?? Buffer.alloc(0)),
    );
  }
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(seen.at(-1)).toBe(files.reduce((sum, { byteLength }) => sum + byteLength, 0));
  expect(modelHashesSchema.parse(JSON.parse(encodeModelHashes(hashes)))).toEqual(hashes);
});

it('finds one flipped byte in the tensor that holds it', async () => {
  const [path = ''] = await make('flipped');
  const before = await hashModel(await openModel(path), { signal: never });
  const tensor = (await openModel(path)).tensors.get('blk.1.ffn_up.weight');
  const file = await open(path, 'r+');
  await file.write(Buffer.from([0x5a]), 0, 1, (tensor?.offset ?? 0) + 17);
  await file.close();
  const after = await hashModel(await openModel(path), { signal: never });
  expect(after.model).toBe(before.model);
  const differ = [...after.tensors].filter(([name, hash]) => before.tensors.get(name) !== hash);
  expect(differ.map(([name]) => name)).toEqual(['blk.1.ffn_up.weight']);
});

it('refuses a file that is no longer the one whose header was read, and stops when told', async () => {
  const [path = ''] = await make('changing');
  const model = await openModel(path);
  await expect(hashModel(model, { signal: AbortSignal.abort(new Error('no more')) })).rejects.toThrow('no more');
  const stop = new AbortController();
  const stopped = hashModel(model, { signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) });
  await expect(stopped).rejects.toThrow('enough');
  await appendFile(path, 'more');
  await expect(hashModel(model, { signal: never })).rejects.toMatchObject({ code: 'SourceChanged', path });
});

it('gives copies one content id wherever they lie, and other headers another', async () => {
  const [path = ''] = await make('here');
  const id = modelFingerprint(await openModel(path));
  const moved = folder.at('elsewhere under another name.gguf');
  await rename(path, moved);
  expect(modelFingerprint(await openModel(moved))).toBe(id);
  // One letter of the vocabulary, which the header reader itself does not keep.
  const bytes = await readFile(moved);
  const file = await open(moved, 'r+');
  await file.write(Buffer.from('Z'), 0, 1, bytes.indexOf('tokenizer.ggml.tokens') + 21 + 4 + 4 + 8 + 8);
  await file.close();
  expect(modelFingerprint(await openModel(moved))).not.toBe(id);
});
