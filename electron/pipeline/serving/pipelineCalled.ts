import { withoutQuantisation } from '../../gguf/modelId.ts';
import type { PipelineReport } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';

/** Shortest beginning of a content id that is taken for one. */
const LEAST_PREFIX = 6;

type Named = Pick<PipelineReport, 'model' | 'modelId' | 'aliases'>;

/**
 * The id of the model that is called so, of those that serve or come up: by its id with or without the quantisation, an
 * alias, or its content id or the beginning of one. Null where none is; throws one plain line where several are.
 */
export function pipelineCalled(reports: readonly Named[], called: string): string | null {
  const lower = called.toLowerCase();
  const ways: ((report: Named) => boolean)[] = [
    ({ modelId }) => modelId === called,
    ({ aliases }) => aliases.includes(called),
    ({ modelId }) => modelId === lower,
    ({ modelId }) => withoutQuantisation(modelId) === lower,
    ({ model }) => lower.length >= LEAST_PREFIX && model.startsWith(lower),
  ];
  for (const way of ways) {
    const [one, ...more] = new Set(reports.filter(way).map(({ modelId }) => modelId));
    if (one !== undefined && more.length > 0) {
      const names = [one, ...more].join(', ');
      throw new PipelineError('FormFailed', `Several models are called ${called}: ${names}. Give the whole name.`);
    }
    if (one !== undefined) return one;
  }
  return null;
}
