import { execFile } from 'node:child_process';
import { mkdir, open, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateModel } from '../../e2e/models/generateModel.ts';
import { cutStage } from './cutStage.ts';
import { GgufError } from './ggufError.ts';
import { modelShape } from './modelShape.ts';
import { openModel } from './openModel.ts';
import { planStageFile } from './planStageFile.ts';
import { ggufBytes, modelEntries, oneTensor, text, u32, u64 } from './testing/ggufBytes.ts';
import { temporaryFolder } from './testing/temporaryFolder.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

const entries = modelEntries();
const [architecture, blockCount] = entries as [(typeof entries)[number], (typeof entries)[number]];
const stringType = u32(8);
const arrayType = u32(9);
const model = { entries, tensors: oneTensor };

/** Name, bytes, code and what the line must say. */
const hostile: [name: string, bytes: Buffer | string, code: string, says: RegExp][] = [
  ['nothing', '', 'NotGguf', /is empty/],
  ['two bytes', 'GG', 'NotGguf', /is not a GGUF file/],
  ['some text', 'Once upon a time there was a model.', 'NotGguf', /is not a GGUF file/],
  [
    'a Git LFS pointer',
    'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32\nsize 12345\n',
    'NotGguf',
    /Git LFS pointer/,
  ],
  ['a web page', '\n<!DOCTYPE html><html><body>Sign in</body></html>', 'NotGguf', /web page/],
  ['a zip', 'PK\u0003\u0004 archive/data.pkl', 'NotGguf', /zip archive/],
  [
    'a safetensors file',
    Buffer.concat([u64(64n), Buffer.from(`{"__metadata__":{}}${' '.repeat(45)}`)]),
    'NotGguf',
    /safetensors/,
  ],
  ['zeros', Buffer.alloc(4096), 'NotGguf', /starts with zeros/],
  ['the magic alone', 'GGUF', 'Truncated', /has 4 bytes of at least 8/],
  ['half a start', ggufBytes(model).subarray(0, 20), 'Truncated', /has 20 bytes of at least 24/],
  ['version 1', ggufBytes({ ...model, version: 1 }), 'NotGguf', /version 1/],
  ['version 4', ggufBytes({ ...model, version: 4 }), 'NotGguf', /version 4/],
  ['big endian', ggufBytes({ ...model, version: 0x03000000 }), 'NotGguf', /big-endian/],
  [
    '2^60 tensors',
    ggufBytes({ ...model, claimedTensors: 2n ** 60n }),
    'Malformed',
    /claims 1152921504606846976 tensors/,
  ],
  [
    '-1 tensors',
    ggufBytes({ ...model, claimedTensors: 2n ** 64n - 1n }),
    'Malformed',
    /claims 18446744073709551615 tensors/,
  ],
  ['100,000 tensors in 200 bytes', ggufBytes({ ...model, claimedTensors: 100_000n }), 'Truncated', /at least 2500016/],
  ['2^60 entries', ggufBytes({ ...model, claimedEntries: 2n ** 60n }), 'Malformed', /metadata entries, more than/],
  [
    'a key of 2^40 bytes',
    ggufBytes({ entries: [text('key', 2n ** 40n)] }),
    'Malformed',
    /string of 1099511627776 bytes/,
  ],
  [
    'a string of 2^40 bytes',
    ggufBytes({ entries: [Buffer.concat([text('a.key'), stringType, text('x', 2n ** 40n)])] }),
    'Malformed',
    /'a\.key' claims to be a string of 1099511627776 bytes/,
  ],
  [
    'a string of 2^40 bytes in an array',
    ggufBytes({ entries: [Buffer.concat([text('a.key'), arrayType, stringType, u64(1n), text('x', 2n ** 40n)])] }),
    'Malformed',
    /'a\.key' claims to hold a string of 1099511627776 bytes/,
  ],
  [
    'a string that runs over the end',
    ggufBytes({ entries: [Buffer.concat([text('a.key'), stringType, text('x', 1000n)])] }),
    'Truncated',
    /at least 1049/,
  ],
  [
    'an array of 2^60 numbers',
    ggufBytes({ entries: [Buffer.concat([text('a.key'), arrayType, u32(4), u64(2n ** 60n)])] }),
    'Malformed',
    /1152921504606846976 values in 'a\.key'/,
  ],
  [
    'an array of arrays',
    ggufBytes({ entries: [Buffer.concat([text('a.key'), arrayType, arrayType, u64(1n), arrayType])] }),
    'Malformed',
    /array of arrays/,
  ],
  [
    'an unknown value type',
    ggufBytes({ entries: [Buffer.concat([text('a.key'), u32(13)])] }),
    'Malformed',
    /unknown type 13/,
  ],
  ['a key twice', ggufBytes({ entries: [blockCount, blockCount] }), 'Malformed', /'llama\.block_count' comes twice/],
  ['an empty key', ggufBytes({ entries: [Buffer.concat([text(''), u32(0), u32(0)])] }), 'Malformed', /no key/],
  [
    'a key that speaks to the terminal',
    ggufBytes({ entries: [Buffer.concat([text('\u001b[2J\nok'), u32(99)])] }),
    'Malformed',
    /'\?\[2J\?ok' has the unknown type/,
  ],
  ...[0, 24, 2 ** 31].map((value): [string, Buffer, string, RegExp] => [
    `an alignment of ${value}`,
    ggufBytes({ ...model, entries: [...entries, ['general.alignment', { type: 'u32', value }]] }),
    'Malformed',
    /general\.alignment/,
  ]),
  [
    'an alignment of another type',
    ggufBytes({ ...model, entries: [...entries, ['general.alignment', { type: 'u64', value: 32 }]] }),
    'Malformed',
    /general\.alignment/,
  ],
  ['a tensor twice', ggufBytes({ entries, tensors: [...oneTensor, ...oneTensor] }), 'Malformed', /comes twice/],
  ['a tensor without a name', ggufBytes({ entries, tensors: [{ name: '' }] }), 'Malformed', /name of tensor 0/],
  [
    'a tensor name of 64 bytes',
    ggufBytes({ entries, tensors: [{ name: 'x'.repeat(64) }] }),
    'Malformed',
    /claims 64 bytes/,
  ],
  [
    'a tensor name of 2^40 bytes',
    ggufBytes({ entries, tensors: [text('blk', 2n ** 40n)] }),
    'Malformed',
    /name of tensor 0 claims 1099511627776 bytes/,
  ],
  [
    'five dimensions',
    ggufBytes({ entries, tensors: [{ name: 'x', dimensions: [1, 1, 1, 1, 1] }] }),
    'Malformed',
    /5 dimensions/,
  ],
  [
    'a dimension of zero',
    ggufBytes({ entries, tensors: [{ name: 'x', dimensions: [8, 0] }] }),
    'Malformed',
    /dimension of 0/,
  ],
  [
    'a negative dimension',
    ggufBytes({ entries, tensors: [Buffer.concat([text('x'), u32(1), u64(2n ** 64n - 8n), u32(0), u64(0n)])] }),
    'Malformed',
    /has a dimension of 18446744073709551608/,
  ],
  [
    'dimensions whose product overflows',
    ggufBytes({ entries, tensors: [{ name: 'x', dimensions: [2 ** 40, 2 ** 40] }] }),
    'Malformed',
    /cannot have the shape/,
  ],
  [
    'rows of half blocks',
    ggufBytes({ entries, tensors: [{ name: 'x', type: 2, dimensions: [48] }] }),
    'Malformed',
    /48 in Q4_0/,
  ],
  ['a removed tensor type', ggufBytes({ entries, tensors: [{ name: 'x', type: 31 }] }), 'Malformed', /type 31/],
  [
    'an unknown tensor type',
    ggufBytes({ entries, tensors: [{ name: 'x', type: 2 ** 31 }] }),
    'Malformed',
    /type 2147483648/,
  ],
  [
    'tensors that overlap',
    ggufBytes({ entries, tensors: [{ name: 'x' }, { name: 'y', offset: 0 }] }),
    'Malformed',
    /'y' lies at 0 of the data, where 32 is due/,
  ],
  [
    'a tensor beyond all numbers',
    ggufBytes({ entries, tensors: [Buffer.concat([text('x'), u32(1), u64(8n), u32(0), u64(2n ** 64n - 1n)])] }),
    'Malformed',
    /'x' lies at 18446744073709551615 of the data/,
  ],
  ['a tensor far away', ggufBytes({ entries, tensors: [{ name: 'x', offset: 2 ** 52 }] }), 'Malformed', /'x' lies at/],
  [
    'a tensor longer than the file',
    ggufBytes({ entries, tensors: [{ name: 'x', dimensions: [2 ** 40] }] }),
    'Truncated',
    /bytes of at least/,
  ],
  [
    'tensors that no disk holds',
    ggufBytes({
      entries,
      tensors: [0, 1, 2, 3]
        .map((n) => ({ name: `${n}`, dimensions: [2 ** 49], byteLength: 2 ** 51, offset: n * 2 ** 51 }))
        .map(({ byteLength: _, ...tensor }) => tensor),
    }),
    'Malformed',
    /more bytes than any disk holds/,
  ],
  ['no architecture', ggufBytes({ tensors: oneTensor }), 'Malformed', /names no architecture/],
  [
    'an architecture that is a number',
    ggufBytes({ entries: [['general.architecture', { type: 'u32', value: 1 }]], tensors: oneTensor }),
    'Malformed',
    /should be a string but is a u32/,
  ],
  ['no layer count', ggufBytes({ entries: [architecture], tensors: oneTensor }), 'NotAModel', /names no layers/],
  ['zero layers', ggufBytes({ ...model, entries: modelEntries(0) }), 'Malformed', /claims 0 layers/],
  ['a billion layers', ggufBytes({ ...model, entries: modelEntries(1e9) }), 'Malformed', /claims 1000000000 layers/],
  [
    'layers in words',
    ggufBytes({ ...model, entries: [architecture, ['llama.block_count', { type: 'string', value: 'ten' }]] }),
    'Malformed',
    /should be a whole number/,
  ],
  ['a vocabulary', ggufBytes({ entries }), 'NotAModel', /holds no weights/],
  [
    'an adapter',
    ggufBytes({ ...model, entries: [...entries, ['general.type', { type: 'string', value: 'adapter' }]] }),
    'NotAModel',
    /'adapter', not a language model/,
  ],
  [
    'a shard with another name',
    ggufBytes({ ...model, entries: [...entries, ['split.count', { type: 'u16', value: 3 }]] }),
    'ShardsDiffer',
    /one of 3 files but is not named like NAME-00001-of-00003\.gguf/,
  ],
];

async function failure(path: string): Promise<GgufError> {
  try {
    await openModel(path);
  } catch (cause) {
    if (cause instanceof GgufError) return cause;
    throw cause;
  }
  throw new Error(`${path} was opened`);
}

describe('a file that is no model is refused in one plain line', () => {
  it.each(hostile)('%s', async (name, bytes, code, says) => {
    const path = folder.at(`${name.replaceAll(/[^\w]/g, '-')}.gguf`);
    await writeFile(path, bytes);
    const error = await failure(path);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(says);
    expect(error.message).toMatch(/^[^\p{Cc}]+$/u);
    expect(error.message.startsWith(path)).toBe(true);
  });

  it('a folder, nothing at all, a pipe', async () => {
    expect((await failure(folder.at('.'))).message).toContain('is a folder');
    expect((await failure(folder.at('nowhere.gguf'))).message).toContain('does not exist');
    if (process.platform === 'win32') return;
    await promisify(execFile)('mkfifo', [folder.at('pipe.gguf')]);
    expect((await failure(folder.at('pipe.gguf'))).message).toContain('is not a regular file');
  });

  it.skipIf(process.platform === 'win32' || process.getuid?.() === 0)('a file without permission', async () => {
    await writeFile(folder.at('secret.gguf'), ggufBytes(model), { mode: 0 });
    expect((await failure(folder.at('secret.gguf'))).message).toContain('no permission');
  });

  it('a well-made file of version 2 is none of these', async () => {
    await writeFile(folder.at('version2.gguf'), ggufBytes({ ...model, version: 2 }));
    expect((await openModel(folder.at('version2.gguf'))).layers).toBe(1);
  });
});

describe('split sets', () => {
  const tiny = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 32, vocabulary: 300, tied: true } as const;
  const make = (name: string, seed = 1, shards = 3) =>
    generateModel(folder.at(`${name}.gguf`), { architecture: 'llama', ...tiny, seed, shards });

  it('are found from any of their files', async () => {
    const files = await make('found');
    for (const file of files) {
      const found = await openModel(file);
      expect(found.files.map(({ path }) => path)).toEqual(files);
      expect(found.summary.name).toBe('random llama 1');
    }
  });

  it('name the file that is missing', async () => {
    const [first = '', second = '', third = ''] = await make('missing');
    await truncate(third, 0);
    expect((await failure(first)).message).toBe(`${third} is empty; download it again.`);
    const gone = folder.at('gone-00002-of-00003.gguf');
    await writeFile(folder.at('gone-00001-of-00003.gguf'), await readFile(first));
    const error = await failure(folder.at('gone-00001-of-00003.gguf'));
    expect(error).toMatchObject({ code: 'MissingShard', path: gone });
    expect(error.message).toBe(`${gone} is missing: the model needs every file of its split set.`);
    expect((await openModel(second).catch((cause) => cause)).code).toBe('NotGguf');
  });

  it('refuse files that do not belong together', async () => {
    const [first = '', second = '', third = ''] = await make('mixed');
    await writeFile(third, await readFile(second));
    expect(await failure(first)).toMatchObject({ code: 'ShardsDiffer', path: third });
    const [other = ''] = await make('other', 2, 2);
    await writeFile(folder.at('mixed-00003-of-00003.gguf'), await readFile(other));
    expect((await failure(first)).message).toContain('it is one of 2 files, not of 3');
    expect(await failure(third)).toMatchObject({ code: 'ShardsDiffer' });
  });
});

describe('broken downloads and bit rot', () => {
  let whole: Buffer;
  beforeAll(async () => {
    const path = folder.at('whole.gguf');
    const shape = {
      layers: 2,
      width: 32,
      heads: 2,
      kvHeads: 1,
      feedForward: 64,
      vocabulary: 300,
      tied: false,
    } as const;
    await generateModel(path, { architecture: 'llama', ...shape, seed: 1, perLayerArrays: true });
    whole = await readFile(path);
  });

  it('a file cut off anywhere is refused as such', async () => {
    const path = folder.at('cut.gguf');
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 1, noNaN: true }), async (share) => {
        // Headers are short beside the data: most of the cuts go there.
        const length = Math.floor(share ** 3 * (whole.byteLength - 1));
        await writeFile(path, whole.subarray(0, length));
        const error = await failure(path);
        expect(error.code).toBe(length < 4 ? 'NotGguf' : 'Truncated');
      }),
      { numRuns: 300 },
    );
  });

  it('a header with any byte changed opens or is refused, and never ends otherwise', async () => {
    const path = folder.at('rot.gguf');
    const header = (await openModel(folder.at('whole.gguf'))).tensors.get('token_embd.weight')?.offset ?? 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: header - 1 }), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const bytes = Buffer.from(whole);
        bytes[at] = (bytes[at] ?? 0) ^ flip;
        await writeFile(path, bytes);
        try {
          const source = await openModel(path);
          if (modelShape(source).cutPoints.length > 0) planStageFile(source, { start: 1, end: source.layers });
        } catch (cause) {
          expect(cause).toBeInstanceOf(GgufError);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('a source that shrinks or changes after it was opened leaves no stage behind', async () => {
    const path = folder.at('shrinking.gguf');
    const out = folder.at('shrunk');
    await mkdir(out);
    await writeFile(path, whole);
    const source = await openModel(path);
    await truncate(path, whole.byteLength - 4096);
    const error = await cutStage(source, { start: 0, end: 1 }, join(out, 'stage.gguf')).catch((cause) => cause);
    expect(error).toMatchObject({ code: 'SourceChanged', path });
    expect(await readdir(out)).toEqual([]);
  });
});

describe('memory', () => {
  it('stays under 300 MB whatever a file claims', async () => {
    const paths = [folder.at('strings.gguf'), folder.at('text.gguf'), folder.at('tensors.gguf')];
    const [strings = '', texts = '', tensors = ''] = paths;
    // Two milliards of empty strings, in a file of holes.
    const array = Buffer.concat([text('a.key'), arrayType, stringType, u64(2n ** 31n)]);
    await writeFile(strings, ggufBytes({ entries: [array] }));
    await truncate(strings, 2 ** 35);
    // Forty strings of 8 MB.
    const file = await open(texts, 'w');
    await file.write(ggufBytes({ claimedEntries: 40n, entries: [] }));
    for (let n = 0, at = 24; n < 40; n++) {
      const head = Buffer.concat([text(`key ${n}`), stringType, u64(8n << 20n)]);
      await file.write(head, 0, head.byteLength, at);
      at += head.byteLength + (8 << 20);
      await file.truncate(at);
    }
    await file.close();
    const many = Array.from({ length: 2 ** 17 }, (_, n) => ({ name: `blk.0.part.${n}.weight` }));
    await writeFile(tensors, ggufBytes({ entries, tensors: many }));
    for (const [name] of hostile) paths.push(folder.at(`${name.replaceAll(/[^\w]/g, '-')}.gguf`));

    const module = pathToFileURL(
      join(import.meta.dirname, '..', '..', 'dist', 'electron', 'gguf', 'openModel.js'),
    ).href;
    const script = `
      import { openModel } from ${JSON.stringify(module)};
      const codes = [];
      for (const path of ${JSON.stringify(paths)}) codes.push(await openModel(path).then(() => 'opened', (e) => e.code));
      console.log(JSON.stringify({ codes, bytes: process.resourceUsage().maxRSS * 1024 }));`;
    const child = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    const { codes, bytes } = JSON.parse(child.stdout) as { codes: string[]; bytes: number };
    expect(codes).toEqual(['Malformed', 'Malformed', 'opened', ...hostile.map(([, , code]) => code)]);
    expect(bytes, `${bytes} bytes at most`).toBeLessThan(300e6);
  });
});
