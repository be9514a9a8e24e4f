import type { Force } from '../../planner/planOptions.ts';
import type { OpenedModel } from '../forming/modelFiles.ts';
import { PipelineError } from '../pipelineError.ts';
import type { ServingSizes } from '../placement/servingSizes.ts';

interface EmbeddingModel {
  summary: Pick<OpenedModel['summary'], 'name'>;
  shape: Pick<OpenedModel['shape'], 'textEmbedding' | 'contextLength'>;
}

interface Wish {
  force?: Force | undefined;
  /** Content id or name of a model that is to draft. */
  draft?: string | undefined;
}

/**
 * Throws PipelineError('FormFailed') for what an embedding model cannot be asked for: to be cut, to be drafted for, texts
 * longer than it has learnt positions, or a pooling that gives no vectors. Models that write text pass.
 */
export function refuseEmbedding(
  { summary: { name }, shape }: EmbeddingModel,
  { force, draft }: Wish,
  { contextLength, slots }: Pick<ServingSizes, 'contextLength' | 'slots'>,
): void {
  const { textEmbedding, contextLength: longest } = shape;
  if (!textEmbedding) return;
  const { pooling, wholeTexts } = textEmbedding;
  const refuse = (message: string): never => {
    throw new PipelineError('FormFailed', message);
  };
  if (pooling === 'rank') {
    refuse(`${name} is a reranker: it scores one text against another and gives no vectors. Take an embedding model.`);
  }
  if (pooling === 'unknown') {
    refuse(`${name} writes no text token by token, and pools texts in no way that is known here, so it is not served.`);
  }
  if (force === 'cluster') {
    refuse(`${name} is an embedding model, and those serve on one member; leave out what forces a cluster.`);
  }
  if (draft !== undefined) refuse(`${name} is an embedding model: it writes no text, so nothing can draft for it.`);
  const asked = Math.floor(contextLength / slots);
  if (wholeTexts && longest > 0 && asked > longest) {
    refuse(`${name} takes texts of at most ${longest} tokens, not ${asked}; ask for a shorter context.`);
  }
}
