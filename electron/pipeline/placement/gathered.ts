import type { RoomMember, ServingRoom } from './servingRoom.ts';

export interface Gathering {
  members(): readonly Pick<RoomMember, 'id' | 'self' | 'state'>[];
  leader: ServingRoom['leader'];
  onChange: ServingRoom['onChange'];
}

/**
 * Resolves with true when somebody leads and all of these members are there; with false after `patienceMs`, or with the
 * signal.
 */
export function gathered(
  room: Gathering,
  members: readonly string[],
  { patienceMs, signal }: { patienceMs: number; signal: AbortSignal },
): Promise<boolean> {
  const areHere = (): boolean => {
    const alive = new Set(room.members().flatMap(({ id, self, state }) => (self || state === 'alive' ? [id] : [])));
    return room.leader() !== null && members.every((id) => alive.has(id));
  };
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      forget();
      signal.removeEventListener('abort', end);
      resolve(areHere());
    };
    const timer = setTimeout(end, patienceMs);
    const forget = room.onChange(() => {
      if (areHere()) end();
    });
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted || areHere()) end();
  });
}
