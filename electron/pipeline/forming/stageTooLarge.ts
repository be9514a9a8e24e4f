import { formatBytes } from '../../planner/formatBytes.ts';
import { PipelineError } from '../pipelineError.ts';

/** A stage that does not fit where it was planned: found before anything was loaded, or by the load itself. */
export class StageTooLarge extends PipelineError {
  /** Id of the member. */
  readonly member: string;
  /** What a stage may take there. */
  readonly freeBytes: number;

  constructor(place: { member: string; name: string }, found: { freeBytes: number; neededBytes: number }) {
    const { freeBytes, neededBytes } = found;
    super(
      'DoesNotFit',
      `${place.name} has ${formatBytes(freeBytes)} free where its stage needs ${formatBytes(neededBytes)}.`,
    );
    this.member = place.member;
    this.freeBytes = freeBytes;
  }
}
