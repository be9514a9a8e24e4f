import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import type { PresenceRecord } from './presenceRecord.ts';

/**
 * The member that leads: the coordinator of the newest epoch, as long as it is present and says so itself. One that has
 * restarted or stepped down no longer does. `present` holds the records of the members that are not lost.
 */
export function leaderOf(epoch: Epoch | null, present: readonly PresenceRecord[]): string | null {
  if (epoch === null) return null;
  const record = present.find(({ member }) => member === epoch.coordinator);
  return record?.leads === epoch.counter ? record.member : null;
}

/**
 * The member that may begin the next epoch: whoever leads already (after a split both halves have one), then pinned, then
 * the most shared memory, then the lower id; one that abstains comes after all that do not.
 */
export function firstInRank(present: readonly PresenceRecord[]): PresenceRecord | null {
  return present.reduce<PresenceRecord | null>(
    (first, record) => (first === null || compareRank(record, first) < 0 ? record : first),
    null,
  );
}

/** Negative when `a` leads rather than `b`. */
function compareRank(a: PresenceRecord, b: PresenceRecord): number {
  return (
    Number(a.card.abstains) - Number(b.card.abstains) ||
    Number(b.leads > 0) - Number(a.leads > 0) ||
    Number(b.card.pinned) - Number(a.card.pinned) ||
    b.card.shareBytes - a.card.shareBytes ||
    (a.member < b.member ? -1 : 1)
  );
}
