import type { OpenedModel } from '../forming/modelFiles.ts';
import { cannotDraft, cannotRewind } from './cannotDraft.ts';
import { rewinds } from './rewinds.ts';

/** Throws PipelineError('FormFailed') where the headers of two models show that one cannot draft for the other. */
export function refuseDraft(target: OpenedModel, draft: OpenedModel): void {
  if (draft.shape.textEmbedding) throw cannotDraft(draft, 'it writes no text');
  if (draft.shape.vocabularySize !== target.shape.vocabularySize) throw cannotDraft(draft);
  const stuck = [target, draft].find(({ shape }) => !rewinds(shape));
  if (stuck !== undefined) throw cannotRewind(stuck);
}
