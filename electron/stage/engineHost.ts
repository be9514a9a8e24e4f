import { Sampling } from '../wire/generated/roomful/v1/ring.ts';
import { draftTokens } from './draftTokens.ts';
import { engineContract } from './engineContract.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeAddon, NativeStage, NativeVocabulary } from './nativeAddon.ts';
import { nativeSampling } from './nativeSampling.ts';
import { serveHost, WrongOrder } from './serveHost.ts';

/** The entry of the engine host: what a member needs of llama.cpp besides its stages. */

let addon: NativeAddon | null = null;
let nextHandle = 0;
const drafts = new Map<number, Promise<{ stage: NativeStage; batch: number }>>();
const vocabularies = new Map<number, NativeVocabulary>();

serveHost(engineContract, (emit) => ({
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
    const controlTokens = vocabulary.controlTokens();
    return { handle, size, bosToken, eosToken, bosText, eosText, addsBos, endTokens, controlTokens, pieces };
  },

  tokenize: async ({ handle, text, ...options }) => opened(handle).tokenize(text, options),

  grammarProblem: async ({ handle, grammar }) => opened(handle).grammarProblem(grammar),

  openDraft: async ({ handle, path, batch, slots, ...sizes }) => {
    if (drafts.has(handle)) throw new WrongOrder(`Draft model ${handle} is open already.`);
    const options = { ...sizes, path, batch, slots, role: 'whole', embedding: null, vocabulary: null } as const;
    const loading = booted()
      .loadStage(
        { ...options, device: null, kvType: 'f16', maxOutputs: slots },
        throttled((fraction) => emit('draftProgress', fraction)),
      )
      .then((stage) => ({ stage, batch }));
    drafts.set(handle, loading);
    await loading.catch((error: unknown) => {
      drafts.delete(handle);
      throw error;
    });
    return null;
  },

  draft: async ({ handle, sampling, ...request }) => {
    const draft = await drafts.get(handle);
    if (draft === undefined) throw new WrongOrder(`Draft model ${handle} is not open.`);
    return draftTokens(draft.stage, {
      ...request,
      batch: draft.batch,
      sampling: nativeSampling(Sampling.decode(sampling)),
    });
  },

  // One that is still loading goes once it has.
  closeDraft: async ({ handle }) => {
    const draft = await drafts.get(handle)?.catch(() => undefined);
    drafts.delete(handle);
    await draft?.stage.unload();
    return null;
  },

  closeVocabulary: async ({ handle }) => {
    opened(handle).free();
    vocabularies.delete(handle);
    return null;
  },

  leave: async () => null,
}));

/** Lets a fraction through when it has come on. */
function throttled(report: (fraction: number) => void): (fraction: number) => void {
  let told = -1;
  return (fraction) => {
    if (fraction < 1 && fraction - told < 0.01) return;
    told = fraction;
    report(fraction);
  };
}

function booted(): NativeAddon {
  if (addon === null) throw new WrongOrder('The engine has not been booted.');
  return addon;
}

function opened(handle: number): NativeVocabulary {
  const vocabulary = vocabularies.get(handle);
  if (vocabulary === undefined) throw new WrongOrder(`Vocabulary ${handle} is not open.`);
  return vocabulary;
}
