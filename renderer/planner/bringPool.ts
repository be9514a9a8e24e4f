import { useMember } from '../member/memberStore.ts';
import { open, usePlayground } from './playgroundStore.ts';
import { roomOfPool } from './scenario/roomOfPool.ts';

/** Puts the members of this pool on the table, as they are now; undo brings the room before it back. */
export function bringPool(): void {
  const { pool } = useMember.getState();
  if (pool === null) return;
  const { question } = usePlayground.getState().history.present;
  open({ question: { ...question, ...roomOfPool(pool.members) }, positions: {} });
}
