import { formatBytes } from '../../planner/formatBytes.ts';
import type { ModelShape } from '../../planner/modelShape.ts';
import type { PlannedPlace } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';
import { MOST_DRAFTS } from '../speculation/mostDrafts.ts';
import { type Candidate, type Placement, type PlaceOptions, placePipelines } from './placePipelines.ts';

/** Who drives a pipeline, and so has its draft model: the member that holds the model alone, else the one that leads. */
export function driverOf(stages: readonly Pick<PlannedPlace, 'member'>[], leader: string): string {
  const [only, ...more] = stages;
  return only === undefined || more.length > 0 ? leader : only.member;
}

/**
 * Places a model and, with every pipeline, a model that drafts for it. Who drives a pipeline shows only in a plan, so what the
 * drafts take is set aside where the last plan has them, until a plan has room for its own. Throws as placePipelines does.
 */
export function placeDrafted(
  candidates: readonly Candidate[],
  shape: ModelShape,
  draftBytes: number,
  options: Omit<PlaceOptions, 'draft'>,
): Placement {
  const aside = new Map([[options.coordinator, draftBytes]]);
  for (;;) {
    const left = candidates.map((each) => ({ ...each, takenBytes: each.takenBytes + (aside.get(each.id) ?? 0) }));
    const placement = placePipelines(left, shape, { ...options, draft: { bytes: 0, tokens: MOST_DRAFTS } });
    const wanted = new Map<string, number>();
    for (const { stages } of placement.pipelines) {
      const driver = driverOf(stages, options.coordinator);
      wanted.set(driver, (wanted.get(driver) ?? 0) + draftBytes);
    }
    const more = [...wanted].filter(([driver, bytes]) => bytes > (aside.get(driver) ?? 0));
    if (more.length === 0) {
      refuseShort(candidates, wanted);
      return placement;
    }
    // It only grows, and no plan has more pipelines than members.
    for (const [driver, bytes] of more) aside.set(driver, bytes);
  }
}

/** A member that has less left than its drafts take offers nothing, and is not to lead a pipeline with them either. */
function refuseShort(candidates: readonly Candidate[], wanted: ReadonlyMap<string, number>): void {
  for (const { id, name, facts, takenBytes } of candidates) {
    const bytes = wanted.get(id) ?? 0;
    if (facts.memoryBytes + (facts.hostMemoryBytes ?? 0) - takenBytes >= bytes) continue;
    throw new PipelineError(
      'FormFailed',
      `${name} has no room for the draft model, which takes ${formatBytes(bytes)} there.`,
    );
  }
}
