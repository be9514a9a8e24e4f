import type { RoomMember } from '../placement/servingRoom.ts';
import type { ServeRequest } from './serveEvents.ts';

/** What was asked for, once more: of the members that were named those that are there now, and as many pipelines as before. */
export function againRequest(
  request: ServeRequest,
  room: readonly Pick<RoomMember, 'id' | 'name' | 'address' | 'state'>[],
): ServeRequest {
  if (request.members === undefined) return request;
  const isAway = (called: NonNullable<ServeRequest['members']>[number]): boolean => {
    const names = typeof called === 'string' ? [called] : [called.id, called.address];
    const known = room.find(({ id, name, address }) =>
      [id, name, address].some((each) => each !== null && names.includes(each)),
    );
    return known !== undefined && known.state !== 'alive';
  };
  const there = request.members.filter((member) => !isAway(member));
  if (there.length === request.members.length) return request;
  const { members: _, force, ...rest } = request;
  return {
    ...rest,
    ...(there.length > 0 && { members: there }),
    ...(force !== undefined && (force !== 'cluster' || there.length !== 1) && { force }),
  };
}
