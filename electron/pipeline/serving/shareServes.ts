import type { ServingRoom } from '../placement/servingRoom.ts';
import type { KeptServes } from './keptServes.ts';
import type { PoolPipelines } from './poolPipelines.ts';

export interface ShareServesOptions {
  kept: Pick<KeptServes, 'news' | 'learn'>;
  room: ServingRoom;
  others: Pick<PoolPipelines, 'clientOf'>;
  /** This member's id. */
  self: string;
  /** Hears of who could not be asked; it is asked again with the next change. */
  onProblem: (cause: unknown) => void;
}

/** Tells every other member that is there what this one is to serve again, and learns the same of each. Never rejects. */
export async function shareServes({ kept, room, others, self, onProblem }: ShareServesOptions): Promise<void> {
  const there = room.members().filter((member) => !member.self && member.state === 'alive');
  await Promise.all(
    there.map(async ({ id }) => {
      try {
        const theirs = await others.clientOf(id)?.exchangeServes(kept.news());
        if (theirs !== undefined) await kept.learn(theirs, self);
      } catch (cause) {
        onProblem(cause);
      }
    }),
  );
}
