import type { OpenedModel } from '../forming/modelFiles.ts';
import { PipelineError } from '../pipelineError.ts';

type Named = Pick<OpenedModel, 'summary' | 'id'>;

/** The tokens of a model with another vocabulary would mean something else to the one that is served. */
export function cannotDraft(draft: Named, why = 'its vocabulary is another one'): PipelineError {
  return new PipelineError(
    'FormFailed',
    `${nameOf(draft)} cannot draft: ${why}. Take a smaller model of the same family.`,
  );
}

/** A model whose state cannot be cut where a draft was rejected can neither draft nor be drafted for. */
export function cannotRewind(model: Named): PipelineError {
  const why = 'keeps a state that cannot be taken back, so nothing can be guessed ahead with it';
  return new PipelineError('FormFailed', `${nameOf(model)} ${why}. Serve it without a draft model.`);
}

function nameOf({ summary, id }: Named): string {
  return summary.name ?? id;
}
