import type { Vocabulary } from '../stage/engineClient.ts';
import type { Pipeline } from './pipeline.ts';
import { PipelineError } from './pipelineError.ts';
import type { GeneratedToken, GenerateRequest } from './servedModel.ts';

/** Generates once the grammar is known to be one: a stage would learn it only after the prompt. */
export async function* answerChecked(
  pipeline: Pipeline,
  vocabulary: Pick<Vocabulary, 'grammarProblem'>,
  request: GenerateRequest,
  signal: AbortSignal,
): AsyncGenerator<GeneratedToken, void, void> {
  const { grammar } = request.sampling;
  const problem = grammar === null ? null : await vocabulary.grammarProblem(grammar);
  if (problem !== null) throw new PipelineError('BadGrammar', `The request cannot be served: ${problem}.`);
  yield* pipeline.generate(request, signal);
}
