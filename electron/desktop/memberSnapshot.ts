import type { LibraryState, MemberApi, MemberState, PoolMemberDetail, PoolState } from '../gateway/memberApi.ts';

/** All that the shell shows of its member, at one moment. */
export interface MemberSnapshot {
  state: MemberState;
  pool: PoolState;
  library: LibraryState;
}

/** Calls `listener` with what the member shows now and after every change of it, until the function that it returns is called. */
export function followMember(api: MemberApi, listener: (snapshot: MemberSnapshot) => void): () => void {
  let parts: Partial<MemberSnapshot> = {};
  const tell = (change: Partial<MemberSnapshot>): void => {
    parts = { ...parts, ...change };
    const { state, pool, library } = parts;
    if (state !== undefined && pool !== undefined && library !== undefined) listener({ state, pool, library });
  };
  const ends = [
    api.subscribe('state', (state) => tell({ state })),
    api.subscribe('pool', (pool) => tell({ pool })),
    api.subscribe('library', (library) => tell({ library })),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** This machine among the members; undefined before the pool knows it. */
export function ownMember({ members }: PoolState): PoolMemberDetail | undefined {
  return members.find(({ self }) => self);
}
