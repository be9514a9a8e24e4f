import type { PipelineReport } from '../numbers/pipelineReport.ts';
import type { RoomMember } from '../placement/servingRoom.ts';
import { type SpeedObservation, standsBeside } from '../placement/speedTruth.ts';

/**
 * What a pipeline that serves tells of the speed of its stages. Nothing of members without a profile, of those that have
 * another one since the plan, and of those that are paused: their owners have other things computed there. Pure.
 */
export function seenSpeeds(
  { model, stages, figures }: Pick<PipelineReport, 'model' | 'stages' | 'figures'>,
  room: readonly Pick<RoomMember, 'id' | 'facts'>[],
): SpeedObservation[] {
  return stages.flatMap(({ member, profileBandwidth: bandwidth, profileMs }, index): SpeedObservation[] => {
    const measuredMs = figures?.stages[index]?.loneMs ?? null;
    const facts = room.find(({ id }) => id === member)?.facts ?? null;
    if (model === '' || measuredMs === null || facts === null || facts.paused === true) return [];
    if (bandwidth === undefined || profileMs === undefined) return [];
    const { backend } = facts;
    if (!standsBeside({ backend, bandwidth }, { backend, bandwidth: facts.bandwidth })) return [];
    return [{ model, member, backend, bandwidth, profileMs, measuredMs }];
  });
}
