import type { Vocabulary } from '../../stage/engineClient.ts';
import { PipelineError } from '../pipelineError.ts';

/** Rejects with a PipelineError where a grammar cannot be read: a stage would learn it only after the prompt. */
export async function refuseBadGrammar(
  grammar: string | null,
  vocabulary: Pick<Vocabulary, 'grammarProblem'>,
): Promise<void> {
  const problem = grammar === null ? null : await vocabulary.grammarProblem(grammar);
  if (problem !== null) throw new PipelineError('BadGrammar', `The request cannot be served: ${problem}.`);
}
