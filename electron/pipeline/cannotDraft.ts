import type { OpenedModel } from './modelFiles.ts';
import { PipelineError } from './pipelineError.ts';

/** The tokens of a model with another vocabulary would mean something else to the one that is served. */
export function cannotDraft({ summary, id }: Pick<OpenedModel, 'summary' | 'id'>): PipelineError {
  const name = summary.name ?? id;
  return new PipelineError(
    'FormFailed',
    `${name} cannot draft: its vocabulary is another one. Take a smaller model of the same family.`,
  );
}
