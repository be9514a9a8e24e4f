import type { MemberPresence } from '../membershipView.ts';
import type { NearMember } from './multicastCheck.ts';
import { cardsOf, type NetworkCard } from './networkCard.ts';

/**
 * The members that multicast should find: alive, looking by multicast themselves, and reached on a subnet of one of these
 * cards. `found` holds the ids of those that it did find. Pure.
 */
export function nearMembers(
  members: readonly MemberPresence[],
  found: ReadonlySet<string>,
  cards: readonly NetworkCard[],
): NearMember[] {
  return members.flatMap(({ id, self, state, host, card }) => {
    if (self || state !== 'alive' || host === null || card === null || !card.multicast) return [];
    return cardsOf(host, cards).length === 0 ? [] : [{ name: card.name, found: found.has(id) }];
  });
}
