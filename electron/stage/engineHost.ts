import { engineContract } from './engineContract.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeAddon, NativeVocabulary } from './nativeAddon.ts';
import { serveHost, WrongOrder } from './serveHost.ts';

/** The entry of the engine host: what a member needs of llama.cpp besides its stages. */

let addon: NativeAddon | null = null;
let nextHandle = 0;
const vocabularies = new Map<number, NativeVocabulary>();

serveHost(engineContract, () => ({
  boot: async ({ parentPid }) => {
    const loaded = loadAddon();
    loaded.addon.exitWithParent(parentPid);
    addon = loaded.addon;
    return { backend: loaded.libraries.backend };
  },

  devices: async () => booted().devices(),

  readSpeed: (options) => booted().readSpeed(options),

  openVocabulary: async ({ path }) => {
    const vocabulary = await booted().loadVocabulary(path);
    const handle = nextHandle;
    nextHandle += 1;
    vocabularies.set(handle, vocabulary);
    const { size, bosToken, eosToken, bosText, eosText, addsBos } = vocabulary;
    const [endTokens, pieces] = [vocabulary.endTokens(), vocabulary.pieces()];
    return { handle, size, bosToken, eosToken, bosText, eosText, addsBos, endTokens, pieces };
  },

  tokenize: async ({ handle, text, ...options }) => opened(handle).tokenize(text, options),

  grammarProblem: async ({ handle, grammar }) => opened(handle).grammarProblem(grammar),

  closeVocabulary: async ({ handle }) => {
    opened(handle).free();
    vocabularies.delete(handle);
    return null;
  },

  leave: async () => null,
}));

function booted(): NativeAddon {
  if (addon === null) throw new WrongOrder('The engine has not been booted.');
  return addon;
}

function opened(handle: number): NativeVocabulary {
  const vocabulary = vocabularies.get(handle);
  if (vocabulary === undefined) throw new WrongOrder(`Vocabulary ${handle} is not open.`);
  return vocabulary;
}
