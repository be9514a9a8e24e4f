import { open, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../gguf/testing/temporaryFolder.ts';
import { doubtParts, mayBeUnwritten } from './doubtParts.ts';
import { seedParts } from './seedParts.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

test('a part that is noted as there and holds zeros is fetched again, the others are kept', async () => {
  const path = folder.at('model.gguf');
  const bytes = 4 * (128 << 10);
  await seedParts(path, bytes);
  const file = await open(`${path}.ipull`, 'r+');
  await file.write(Buffer.alloc(bytes, 0x5a), 0, bytes, 0);
  // Of the second part 64 bytes in the middle never came, of the third its last four, and the fourth is under way.
  await file.write(Buffer.alloc(64), 0, 64, (128 << 10) + 1000);
  await file.write(Buffer.alloc(4), 0, 4, 3 * (128 << 10) - 4);
  const progress = { part: 0, chunks: [2, 2, 2, 1], chunkSize: 128 << 10, parallelStreams: 3 };
  await file.write(JSON.stringify(progress), bytes);
  await file.close();
  expect(await doubtParts(path, bytes)).toBe(2);
  const after = JSON.parse((await readFile(`${path}.ipull`)).subarray(bytes).toString('utf8'));
  expect(after).toEqual({ ...progress, chunks: [2, 0, 0, 1] });
  expect(await doubtParts(path, bytes)).toBe(0);
});

test('where nothing is there, or what nobody understands, nothing is done', async () => {
  expect(await doubtParts(folder.at('none.gguf'), 10)).toBe(0);
  const path = folder.at('odd.gguf');
  const file = await open(`${path}.ipull`, 'w');
  await file.write('0123456789{"chunks": 3}');
  await file.close();
  expect(await doubtParts(path, 10)).toBe(0);
  expect(await readFile(`${path}.ipull`, 'utf8')).toBe('0123456789{"chunks": 3}');
});

test.each([
  ['64 zeros in the middle', [...Array(100).fill(1), ...Array(64).fill(0), 1], true],
  ['63 zeros in the middle', [...Array(100).fill(1), ...Array(63).fill(0), 1], false],
  ['four at the start', [0, 0, 0, 0, 1], true],
  ['three at the start', [0, 0, 0, 1, 1], false],
  ['four at the end', [1, 0, 0, 0, 0], true],
  ['three at the end', [1, 0, 0, 0], false],
  ['nothing else', [0, 0], true],
  ['nothing at all', [], true],
])('%s', (_name, bytes, expected) => {
  expect(mayBeUnwritten(Uint8Array.from(bytes))).toBe(expected);
});
