import { CallRefused, WireError } from '../../wire/wireError.ts';
import { failureKind } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';

/**
 * What a call to the member that drives a pipeline failed with, as if the pipeline were here; `retryAfter` is when its queue
 * may have room again, in seconds.
 */
export function remoteError(cause: unknown, driver: string, retryAfter = 1): unknown {
  if (!(cause instanceof WireError)) return cause;
  const kind = cause instanceof CallRefused ? failureKind(cause.kind) : null;
  if (kind === 'QueueFull') return new PipelineError(kind, cause.message, { cause, retryAfter });
  if (kind !== null) return new PipelineError(kind, cause.message, { cause });
  if (cause instanceof CallRefused) return new PipelineError('FormFailed', `${driver}: ${cause.message}`, { cause });
  return new PipelineError('StageLost', `${driver}, which drives the model, was lost: ${cause.message}`, { cause });
}
