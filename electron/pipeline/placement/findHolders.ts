import type { ModelHolder } from '../forming/modelFiles.ts';
import type { PoolPipelines } from '../serving/poolPipelines.ts';
import type { ServingRoom } from './servingRoom.ts';

/** Asks every other member that is there which model it has by this name or content id; who does not answer has none. */
export async function findHolders(
  called: string,
  { room, others }: { room: ServingRoom; others: Pick<PoolPipelines, 'clientOf'> },
): Promise<{ model: string; holder: ModelHolder }[]> {
  const asked = room.members().flatMap((member) => {
    const client = member.self ? null : others.clientOf(member.id);
    return client === null ? [] : [{ member, client }];
  });
  const answers = await Promise.allSettled(asked.map(({ client }) => client.findModel(called)));
  return asked.flatMap(({ member, client }, index) => {
    const answer = answers[index];
    if (answer?.status !== 'fulfilled' || answer.value === null) return [];
    const { model, weights } = answer.value;
    return [{ model, holder: { member: member.id, addresses: [client.address], weights } }];
  });
}

/**
 * Every holder once, with the weights that it was found to have: this member's own file (null without one), those that were
 * named, and those that said so when they were asked. Whoever asked for the model is named, and so is first; else this
 * member's own file is.
 */
export function everyHolder(
  own: ModelHolder | null,
  named: readonly ModelHolder[],
  found: readonly ModelHolder[],
): ModelHolder[] {
  const holders = new Map<string, ModelHolder>();
  for (const holder of [...named, ...(own === null ? [] : [own]), ...found]) {
    const known = holders.get(holder.member) ?? holder;
    holders.set(holder.member, { ...known, weights: holder.weights ?? known.weights });
  }
  return [...holders.values()];
}

/**
 * Those of the holders that have the same weights, and those that differ. The first that has read its file decides, since one
 * content id covers but a sample; who has not read its own yet is held against the others tensor by tensor.
 */
export function agreeing(holders: readonly ModelHolder[]): { same: ModelHolder[]; others: ModelHolder[] } {
  const wanted = holders.find(({ weights }) => weights !== undefined)?.weights;
  const agrees = ({ weights }: ModelHolder): boolean => weights === undefined || weights === wanted;
  return { same: holders.filter(agrees), others: holders.filter((holder) => !agrees(holder)) };
}
