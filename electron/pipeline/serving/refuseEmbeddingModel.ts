import { isEmbeddingModel } from '../../gguf/splittability.ts';
import type { OpenedModel } from '../forming/modelFiles.ts';
import { PipelineError } from '../pipelineError.ts';

/**
 * Throws PipelineError('FormFailed') for a model that writes no text (bert and the like, or a decoder with a pooling of its own):
 * its vectors would be others than it was trained to give, since every text here gets the mean over its tokens.
 */
export function refuseEmbeddingModel({ summary, shape }: Pick<OpenedModel, 'summary' | 'shape'>): void {
  if (shape.unsplittableReason !== isEmbeddingModel) return;
  const message =
    `${summary.name} is an embedding model with a pooling of its own, and those are not served yet. ` +
    'Take a model that writes text: /v1/embeddings gives its embeddings too.';
  throw new PipelineError('FormFailed', message);
}
