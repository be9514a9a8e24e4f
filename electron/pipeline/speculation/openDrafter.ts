import type { EngineKeeper } from '../../stage/engineKeeper.ts';
import type { ModelFiles, ModelHolder } from '../forming/modelFiles.ts';
import {
  StageFileDamaged,
  type StageFileLease,
  type StageFileRequest,
  type StageFiles,
} from '../forming/stageFiles.ts';
import type { ModelText, VocabularyShelf } from '../forming/vocabularyShelf.ts';
import { cannotDraft } from './cannotDraft.ts';
import { ModelDrafter } from './modelDrafter.ts';

/** Where a model that drafts runs, and how. */
export interface DraftHost {
  engine: Pick<EngineKeeper, 'openDraft'>;
  stageFiles: StageFiles;
  threads: number;
  /** Layers that go to the device; 0 on a member that computes on its CPU. */
  gpuLayers: number;
  onProblem: (cause: unknown) => void;
}

interface Target {
  text: ModelText;
  /** Tokens over all slots. */
  contextLength: number;
  slots: number;
  batch: number;
  signal: AbortSignal;
}

/**
 * Loads the model that drafts, fetched where this member has it not. Throws PipelineError('FormFailed') where its vocabulary is
 * not that of the target: its tokens would mean something else.
 */
export async function openDrafter(
  { files, shelf, draftHost }: { files: ModelFiles; shelf: VocabularyShelf; draftHost: DraftHost },
  draft: { model: string; holders: readonly ModelHolder[] },
  { text, contextLength, slots, batch, signal }: Target,
): Promise<{ drafter: ModelDrafter; release: () => Promise<void> }> {
  const opened = await files.open(draft.model, draft.holders, signal);
  const own = await shelf.take(draft.model, (path) => opened.writeVocabulary(path, { signal }));
  const same = speaksAlike(own, text);
  await shelf.release(draft.model);
  if (!same) throw cannotDraft(opened);
  const layers = opened.shape.layers.length;
  const request = { model: draft.model, startLayer: 0, endLayer: layers, holders: opened.holders };
  const lease = await soundFile(draftHost, request, signal);
  try {
    const { engine, threads, gpuLayers, onProblem } = draftHost;
    const { path } = lease.file;
    const model = await engine.openDraft({ path, layers, contextLength, slots, batch, threads, gpuLayers });
    if (signal.aborted) {
      await model.close();
      throw signal.reason;
    }
    const drafter = new ModelDrafter(model, { slots, sequenceLength: Math.floor(contextLength / slots), onProblem });
    const release = async (): Promise<void> => {
      try {
        await model.close();
      } finally {
        await lease.release();
      }
    };
    return { drafter, release };
  } catch (cause) {
    await lease.release();
    throw cause;
  }
}

/** The file, read whole before it is loaded (drafts are small); one that is damaged is got again, once. */
async function soundFile(
  { stageFiles, onProblem }: DraftHost,
  request: StageFileRequest,
  signal: AbortSignal,
): Promise<StageFileLease> {
  const provided = async (): Promise<StageFileLease> => {
    const lease = await stageFiles.provide(request, { signal });
    await lease.check({ signal }).catch(async (cause: unknown) => {
      await lease.release();
      throw cause;
    });
    return lease;
  };
  return provided().catch((cause: unknown) => {
    if (!(cause instanceof StageFileDamaged)) throw cause;
    onProblem(cause);
    return provided();
  });
}

/** Whether every token is spelt the same. */
function speaksAlike({ vocabulary: a }: ModelText, { vocabulary: b }: ModelText): boolean {
  return (
    a.size === b.size &&
    Buffer.compare(a.pieces.bytes, b.pieces.bytes) === 0 &&
    a.pieces.offsets.every((offset, index) => offset === b.pieces.offsets[index])
  );
}
