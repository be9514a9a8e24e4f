import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateModel } from '../../e2e/models/generateModel.ts';
import { checkServable } from './checkServable.ts';
import type { EncodableValue } from './encodeHeader.ts';
import { GgufError } from './ggufError.ts';
import { knownArchitectures } from './knownArchitectures.ts';
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

const sane = { layers: 2, width: 32, heads: 4, kvHeads: 2, feedForward: 64, vocabulary: 300, tied: false } as const;

/** A model that llama.cpp loads, with something about it changed. */
interface Change {
  /** `general.architecture`, where it is another. */
  architecture?: string;
  /** Entries by key; null takes them out. */
  entries?: Record<string, EncodableValue | null>;
  /** Tensors by name, in another shape of as many weights; null takes them out. */
  tensors?: Record<string, number[] | null>;
  /** Added. */
  more?: string[];
}

const number = (value: number): EncodableValue => ({ type: 'u32', value });
const perLayer = (...values: number[]): EncodableValue => ({ type: 'array', element: 'i32', values });

/** What llama.cpp refuses, or dies of, when it loads a model: each is said at import, in one plain line. */
const unservable: [name: string, change: Change, says: RegExp][] = [
  ['no heads', { entries: { 'llama.attention.head_count': number(0) } }, /layer 0 attends with 0 heads/],
  ['no heads named', { entries: { 'llama.attention.head_count': null } }, /layer 0 attends with 0 heads/],
  [
    'no heads in one layer',
    { entries: { 'llama.attention.head_count': perLayer(4, 0) } },
    /layer 1 attends with 0 heads/,
  ],
  ['no KV heads', { entries: { 'llama.attention.head_count_kv': number(0) } }, /attends with 0 KV heads/],
  [
    'KV heads that do not divide the heads',
    { entries: { 'llama.attention.head_count_kv': number(3) } },
    /the 4 attention heads of layer 0 cannot share 3 KV heads/,
  ],
  ['more KV heads than heads', { entries: { 'llama.attention.head_count_kv': number(8) } }, /cannot share 8 KV heads/],
  [
    'more heads than width',
    { entries: { 'llama.attention.head_count': number(64), 'llama.attention.key_length': null } },
    /a width of 32 has no room for 64 attention heads/,
  ],
  [
    'a billion heads',
    { entries: { 'llama.attention.head_count': number(1e9), 'llama.attention.head_count_kv': number(1e9) } },
    /attention heads must be at most 65536, not 1000000000/,
  ],
  ['no width', { entries: { 'llama.embedding_length': number(0) } }, /'llama\.embedding_length' is 0/],
  ['no width named', { entries: { 'llama.embedding_length': null } }, /does not say 'llama\.embedding_length'/],
  ['another width', { entries: { 'llama.embedding_length': number(64) } }, /its embedding is 32 wide where/],
  ['no context', { entries: { 'llama.context_length': number(0) } }, /'llama\.context_length' is 0/],
  ['no context named', { entries: { 'llama.context_length': null } }, /does not say 'llama\.context_length'/],
  [
    'a negative context',
    { entries: { 'llama.context_length': { type: 'i32', value: -1 } } },
    /'llama\.context_length' should be a whole number but is a i32/,
  ],
  [
    'a context of 64 bits, which llama.cpp does not read',
    { entries: { 'llama.context_length': { type: 'u64', value: 2048 } } },
    /'llama\.context_length' should be a 32-bit whole number but is a u64/,
  ],
  [
    'a context in words',
    { entries: { 'llama.context_length': { type: 'string', value: 'long' } } },
    /'llama\.context_length' should be a whole number/,
  ],
  [
    'heads of one layer too many',
    { entries: { 'llama.attention.head_count': perLayer(4, 4, 4) } },
    /'llama\.attention\.head_count' has 3 values for 2 layers/,
  ],
  ['heads without keys', { entries: { 'llama.attention.key_length': number(0) } }, /attention\.key_length' is 0/],
  [
    'heads that do not fit the weights',
    { entries: { 'llama.attention.key_length': number(16), 'llama.rope.dimension_count': number(16) } },
    /'blk\.0\.attn_q\.weight' has the shape 32 x 32, not 32 x 64/,
  ],
  [
    'positions in half of each head',
    { entries: { 'llama.rope.dimension_count': number(4) } },
    /'llama\.rope\.dimension_count' is 4 where its heads are 8 wide/,
  ],
  ['no feed-forward width', { entries: { 'llama.feed_forward_length': null } }, /ffn_gate\.weight' has the shape/],
  [
    'more experts used than there are',
    { entries: { 'llama.expert_count': number(4), 'llama.expert_used_count': number(8) } },
    /claims to use 8 of 4 experts/,
  ],
  ['experts of which none is used', { entries: { 'llama.expert_count': number(4) } }, /claims 4 experts and uses none/],
  [
    'a million experts',
    { entries: { 'llama.expert_count': number(1e6), 'llama.expert_used_count': number(2) } },
    /claims 1000000 experts, more than 1024/,
  ],
  [
    'an epsilon that is no number',
    { entries: { 'llama.attention.layer_norm_rms_epsilon': { type: 'f32', value: Number.NaN } } },
    /layer_norm_rms_epsilon' is NaN/,
  ],
  ['a base of 0', { entries: { 'llama.rope.freq_base': { type: 'f32', value: 0 } } }, /'llama\.rope\.freq_base' is 0/],
  [
    'an unknown scaling of positions',
    { entries: { 'llama.rope.scaling.type': { type: 'string', value: 'magic' } } },
    /scaled in the unknown way 'magic'/,
  ],
  [
    'an unknown architecture',
    { architecture: 'gpt-17', entries: { 'gpt-17.block_count': number(2) } },
    /does not know the architecture 'gpt-17'/,
  ],
  ['no vocabulary', { entries: { 'tokenizer.ggml.model': null } }, /it has no vocabulary/],
  [
    'the vocabulary of a stage',
    { entries: { 'tokenizer.ggml.model': { type: 'string', value: 'none' } } },
    /it has no vocabulary/,
  ],
  [
    'an unknown vocabulary',
    { entries: { 'tokenizer.ggml.model': { type: 'string', value: 'runes' } } },
    /its vocabulary is of the unknown kind 'runes'/,
  ],
  ['no tokens', { entries: { 'tokenizer.ggml.tokens': null } }, /its vocabulary has no tokens/],
  [
    'fewer tokens than rows',
    { entries: { 'tokenizer.ggml.tokens': { type: 'array', element: 'string', values: ['a', 'b'] } } },
    /its vocabulary has 2 tokens and its embedding 300/,
  ],
  [
    'fewer scores than tokens',
    { entries: { 'tokenizer.ggml.scores': { type: 'array', element: 'f32', values: [1] } } },
    /has 300 tokens, and 'tokenizer\.ggml\.scores' is not one value for each/,
  ],
  [
    'a vocabulary without merges',
    { entries: { 'tokenizer.ggml.model': { type: 'string', value: 'gpt2' } } },
    /its vocabulary has no merges/,
  ],
  [
    'a layer of which a part is missing',
    { tensors: { 'blk.1.ffn_up.weight': null } },
    /holds no 'blk\.1\.ffn_up\.weight'/,
  ],
  ['no last norm', { tensors: { 'output_norm.weight': null } }, /holds no 'output_norm\.weight'/],
  [
    'a matrix in another shape',
    { tensors: { 'blk.0.ffn_down.weight': [32, 64] } },
    /'blk\.0\.ffn_down\.weight' has the shape 32 x 64, not 64 x 32/,
  ],
  ['a layer too many', { more: ['blk.2.attn_norm.weight'] }, /holds 'blk\.2\.attn_norm\.weight' but claims 2 layers/],
];

/** The bytes of a model of a plain shape with a change. */
async function changed({ architecture = 'llama', entries = {}, tensors = {}, more = [] }: Change): Promise<Buffer> {
  const path = folder.at('sane.gguf');
  await generateModel(path, { architecture: 'llama', ...sane, seed: 1 });
  const [model, file] = [await openModel(path), await readFile(path)];
  const kept = [...model.metadata.entries()].flatMap(({ key, offset, byteLength }) =>
    key === 'general.architecture' || key in entries ? [] : [file.subarray(offset, offset + byteLength)],
  );
  const own = Object.entries(entries).flatMap(([key, value]) => (value === null ? [] : [[key, value] as const]));
  return ggufBytes({
    entries: [['general.architecture', { type: 'string', value: architecture }], ...kept, ...own],
    tensors: [
      ...[...model.tensors.values()].flatMap(({ name, type, dimensions, byteLength }) => {
        const shape = name in tensors ? tensors[name] : dimensions;
        return shape == null ? [] : [{ name, type: type.id, dimensions: shape, byteLength }];
      }),
      ...more.map((name) => ({ name })),
    ],
  });
}

describe('a model that llama.cpp would not load is refused at import', () => {
  it('and one that it loads is not', async () => {
    await writeFile(folder.at('sound.gguf'), await changed({}));
    checkServable(await openModel(folder.at('sound.gguf')));
  });

  it.each(unservable)('%s', async (name, change, says) => {
    const path = folder.at(`unservable ${name.replaceAll(/\W/g, '-')}.gguf`);
    await writeFile(path, await changed(change));
    const error = await openModel(path)
      .then(checkServable)
      .catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(GgufError);
    const { message } = error as GgufError;
    expect(message).toMatch(says);
    expect(message.startsWith(path)).toBe(true);
    expect(message).toMatch(/^[^\p{Cc}]+$/u);
  });
});

it('the architectures that are let in are those of the libraries that come along', async () => {
  const library = await readFile(await llamaLibrary(), 'latin1');
  for (const architecture of knownArchitectures) expect(library, architecture).toContain(`${architecture}\0`);
});

async function llamaLibrary(): Promise<string> {
  const packages = fileURLToPath(new URL('../../node_modules/@node-llama-cpp', import.meta.url));
  for (const name of await readdir(packages)) {
    for (const entry of await readdir(join(packages, name), { recursive: true, withFileTypes: true })) {
      if (/^(lib)?llama\.(v[\d.]+\.)?(so|dylib|dll|v.*\.dylib)/.test(entry.name))
        return join(entry.parentPath, entry.name);
    }
  }
  throw new Error('No library of llama.cpp is installed.');
}

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
  await writeFile(folder.at('first-00002-of-00002.gguf'), await readFile(second));
  await expect(openModel(llamaFirst)).rejects.toMatchObject({ code: 'ShardsDiffer' });
});
