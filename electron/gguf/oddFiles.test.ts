import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateModel } from '../../e2e/models/generateModel.ts';
import type { EncodableValue } from './encodeHeader.ts';
import { GgufError } from './ggufError.ts';
import { modelShape } from './modelShape.ts';
import { openModel } from './openModel.ts';
import { ggufBytes, modelEntries, text, u32, u64 } from './testing/ggufBytes.ts';
import { temporaryFolder } from './testing/temporaryFolder.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

const llama = (keys: Record<string, number>): [string, EncodableValue][] => [
  ...modelEntries(1),
  ...Object.entries(keys).map(([key, value]): [string, EncodableValue] => [`llama.${key}`, { type: 'u32', value }]),
];
const embedding = { name: 'token_embd.weight', dimensions: [8, 4], byteLength: 128 };
const layer = { name: 'blk.0.attn_norm.weight' };
const sound = { embedding_length: 8, 'attention.head_count': 2, context_length: 64 };

/** Headers that are well formed and describe nothing that could be served; the line names the file, not our fields. */
const odd: [name: string, bytes: Buffer, says: RegExp][] = [
  [
    'no width',
    ggufBytes({ entries: modelEntries(1), tensors: [layer] }),
    /the width of its embedding must be at least 1/,
  ],
  ['no vocabulary', ggufBytes({ entries: llama(sound), tensors: [layer] }), /its vocabulary must be at least 1, not 0/],
  [
    'a layer without weights',
    ggufBytes({ entries: llama(sound), tensors: [embedding] }),
    /the size of layer 0 must be at least 1, not 0/,
  ],
  [
    'a KV cache beyond all memory',
    ggufBytes({
      entries: llama({ ...sound, 'attention.key_length': 2 ** 31, 'attention.value_length': 2 ** 31 }),
      tensors: [embedding, layer, { name: 'blk.0.attn_k.weight' }],
    }),
    /the KV cache per token of layer 0 must be at most/,
  ],
  [
    'a context beyond all memory',
    ggufBytes({ entries: llama({ ...sound, context_length: 2 ** 32 - 1 }), tensors: [embedding, layer] }),
    /its context length must be at most/,
  ],
  [
    'more heads than there can be',
    ggufBytes({ entries: llama({ ...sound, 'attention.head_count': 2 ** 32 - 1 }), tensors: [embedding, layer] }),
    /the number of its attention heads must be at most/,
  ],
];

describe('a header that describes nothing that could be served', () => {
  it.each(odd)('%s', async (name, bytes, says) => {
    const path = folder.at(`${name.replaceAll(' ', '-')}.gguf`);
    await writeFile(path, bytes);
    const model = await openModel(path);
    let error: unknown;
    try {
      modelShape(model);
    } catch (cause) {
      error = cause;
    }
    expect(error).toBeInstanceOf(GgufError);
    const { message } = error as GgufError;
    expect(message).toMatch(says);
    expect(message.startsWith(`${path} cannot be served: `)).toBe(true);
    expect(message).not.toMatch(/model\.|[a-z]Bytes|hiddenSize/);
  });
});

describe('names', () => {
  it.each([
    'with spaces and (brackets).gguf',
    '🦙 emoji ✗.gguf',
    '..gguf',
    '...gguf',
    'quote\'"$HOME;.gguf',
    '-rf.gguf',
  ])('%s', async (name) => {
    await writeFile(folder.at(name), ggufBytes({ entries: llama(sound), tensors: [embedding, layer] }));
    const { files, summary } = await openModel(folder.at(name));
    expect(files[0]?.path).toBe(folder.at(name));
    expect(summary.name).not.toBe('');
  });

  it('of a split set with all of these', async () => {
    await folder.makeIn('a .. b 🦙');
    const shape = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 32, vocabulary: 300, tied: true } as const;
    const path = folder.at('a .. b 🦙/some model.gguf');
    const files = await generateModel(path, { architecture: 'llama', ...shape, seed: 1, shards: 2 });
    expect((await openModel(files[1] ?? '')).files.map((file) => file.path)).toEqual(files);
  });

  it.skipIf(process.platform === 'win32')(
    'that speak to the terminal or run over lines stay in one plain line',
    async () => {
      for (const name of ['two\nlines.gguf', 'red\u001b[31m.gguf', 'right\u202eto left.gguf']) {
        await writeFile(folder.at(name), 'no model');
        await expect(openModel(folder.at(name))).rejects.toThrow(/^[^\p{Cc}\u202e]+ is not a GGUF file\.$/u);
      }
    },
  );

  it.skipIf(process.platform === 'win32')('that are links, to a model, in circles, to nowhere', async () => {
    await writeFile(folder.at('real.gguf'), ggufBytes({ entries: llama(sound), tensors: [embedding, layer] }));
    await symlink(folder.at('real.gguf'), folder.at('link.gguf'));
    expect((await openModel(folder.at('link.gguf'))).layers).toBe(1);
    await symlink(folder.at('ring-b.gguf'), folder.at('ring-a.gguf'));
    await symlink(folder.at('ring-a.gguf'), folder.at('ring-b.gguf'));
    await expect(openModel(folder.at('ring-a.gguf'))).rejects.toThrow(/ring-a\.gguf is a link that leads to itself\.$/);
    await symlink(folder.at('nowhere.gguf'), folder.at('dangling.gguf'));
    await expect(openModel(folder.at('dangling.gguf'))).rejects.toThrow(/dangling\.gguf does not exist\.$/);
    await mkdir(folder.at('folder.gguf'));
    await expect(openModel(folder.at('folder.gguf'))).rejects.toThrow(/folder\.gguf is a folder/);
  });
});

describe('sizes', () => {
  const keys = (count: number): [string, EncodableValue][] =>
    Array.from({ length: count }, (_, n) => [`some.key.${n}`, { type: 'u32', value: n }]);

  it('60,000 keys are read, 100,000 are refused', async () => {
    const path = folder.at('keys.gguf');
    await writeFile(path, ggufBytes({ entries: [...llama(sound), ...keys(60_000)], tensors: [embedding, layer] }));
    expect((await openModel(path)).metadata.count('some.key.59999')).toBe(59_999);
    await writeFile(path, ggufBytes({ entries: [...llama(sound), ...keys(100_000)], tensors: [embedding, layer] }));
    await expect(openModel(path)).rejects.toThrow(/claims 100005 metadata entries, more than 65536/);
  });

  it('arrays in arrays in arrays are refused before they are followed', async () => {
    const nested = Buffer.concat([
      text('deep'),
      u32(9),
      ...Array.from({ length: 1000 }, () => [u32(9), u64(1n)]).flat(),
    ]);
    await writeFile(folder.at('nested.gguf'), ggufBytes({ entries: [...llama(sound), nested], tensors: [layer] }));
    await expect(openModel(folder.at('nested.gguf'))).rejects.toThrow(/'deep' is an array of arrays/);
  });

  it('100,000 tensors are read once, in pieces of one megabyte', async () => {
    const tensors = Array.from({ length: 100_000 }, (_, n) => ({ name: `blk.0.part.${n}.weight` }));
    const path = folder.at('tensors.gguf');
    await writeFile(path, ggufBytes({ entries: llama(sound), tensors: [embedding, ...tensors] }));
    expect((await openModel(path)).tensors.size).toBe(100_001);
  });
});

it('files of different models make no set', async () => {
  const shape = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 32, vocabulary: 300, tied: true } as const;
  const make = (name: string, architecture: 'llama' | 'qwen2', layers: number) =>
    generateModel(folder.at(`${name}.gguf`), { architecture, ...shape, layers, seed: 1, shards: 2 });
  const [llamaFirst = ''] = await make('first', 'llama', 2);
  const [, second = ''] = await make('second', 'qwen2', 2);
  await writeFile(folder.at('first-00002-of-00002.gguf'), await (await import('node:fs/promises')).readFile(second));
  await expect(openModel(llamaFirst)).rejects.toMatchObject({ code: 'ShardsDiffer' });
});
