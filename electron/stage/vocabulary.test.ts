import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openModel } from '../gguf/openModel.ts';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { writeVocabulary } from '../gguf/writeVocabulary.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeVocabulary } from './nativeAddon.ts';
import { chatPrompt, demoPath } from './testing/demoModel.ts';
import { textOf } from './testing/textOf.ts';

const { addon } = loadAddon();
const folder = temporaryFolder();
let vocabulary: NativeVocabulary;
beforeAll(async () => {
  await folder.make();
  vocabulary = await addon.loadVocabulary(demoPath);
});
afterAll(async () => {
  vocabulary.free();
  await folder.remove();
});

const [endOfText, startOfTurn, endOfTurn] = [1533, 1534, 1535];

describe('a vocabulary', () => {
  it('knows its special tokens', () => {
    expect(vocabulary).toMatchObject({ size: 1536, bosToken: endOfText, eosToken: endOfTurn, addsBos: false });
    expect([...vocabulary.endTokens()]).toEqual([endOfText, endOfTurn]);
  });

  it('reads special tokens in a text only when asked', () => {
    const text = chatPrompt('Hi');
    const parsed = [...vocabulary.tokenize(text, { addSpecial: true, parseSpecial: true })];
    expect(parsed[0]).toBe(startOfTurn);
    expect(parsed.filter((token) => token === endOfTurn)).toHaveLength(1);
    const plain = [...vocabulary.tokenize(text, { addSpecial: true, parseSpecial: false })];
    expect(plain.some((token) => token >= endOfText)).toBe(false);
    expect(textOf(vocabulary, plain)).toBe(text);
  });

  it.each(['', 'a', 'Größe, 漢字 and 👩‍👩‍👧 — \n\t\0 end', ' leading', 'x'.repeat(10_000), '\n'.repeat(500)])(
    'gives a text back from its tokens, byte by byte',
    (text) => {
      const tokens = [...vocabulary.tokenize(text, { addSpecial: false, parseSpecial: false })];
      expect(textOf(vocabulary, tokens)).toBe(text);
    },
  );

  it('has a piece for every token, none for control tokens', () => {
    const { bytes, offsets } = vocabulary.pieces();
    expect(offsets).toHaveLength(vocabulary.size + 1);
    expect(offsets.at(-1)).toBe(bytes.length);
    expect([...offsets]).toEqual([...offsets].sort((a, b) => a - b));
    const lengthOf = (token: number) => (offsets[token + 1] ?? 0) - (offsets[token] ?? 0);
    expect([endOfText, startOfTurn, endOfTurn].map(lengthOf)).toEqual([0, 0, 0]);
    // A byte-level vocabulary holds each of the 256 bytes.
    const single = new Set<number | undefined>();
    for (let token = 0; token < vocabulary.size; token++)
      if (lengthOf(token) === 1) single.add(bytes[offsets[token] ?? 0]);
    expect(single.size).toBe(256);
  });

  it('is the same from a file of metadata alone', async () => {
    const path = folder.at('vocabulary.gguf');
    await writeVocabulary(await openModel(demoPath), path);
    const alone = await addon.loadVocabulary(path);
    expect(alone.pieces()).toEqual(vocabulary.pieces());
    expect(alone.endTokens()).toEqual(vocabulary.endTokens());
    const text = chatPrompt('What is a hop?');
    const special = { addSpecial: true, parseSpecial: true };
    expect(alone.tokenize(text, special)).toEqual(vocabulary.tokenize(text, special));
    alone.free();
  });

  it('is of no use after free()', async () => {
    const freed = await addon.loadVocabulary(demoPath);
    freed.free();
    freed.free();
    const unloaded = expect.objectContaining({ code: 'Unloaded' });
    expect(() => freed.size).toThrow(unloaded);
    expect(() => freed.pieces()).toThrow(unloaded);
    expect(() => freed.tokenize('a', { addSpecial: false, parseSpecial: false })).toThrow(unloaded);
  });

  it('refuses what is no text or no options', () => {
    const tokenize = vocabulary.tokenize.bind(vocabulary) as (...args: unknown[]) => unknown;
    const bad = expect.objectContaining({ code: 'BadArgument' });
    expect(() => tokenize(1, { addSpecial: false, parseSpecial: false })).toThrow(bad);
    expect(() => tokenize('a', {})).toThrow(bad);
    expect(() => tokenize('a')).toThrow(bad);
  });
});
