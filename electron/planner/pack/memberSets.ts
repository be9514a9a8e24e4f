/** The most members that are searched exactly: every set of them, in every order. */
export const exactLimit = 16;

/**
 * Sets of up to `exactLimit` members as numbers. The first of the list is the highest bit, so that counting down from
 * `all` meets the sets of early members first.
 */
export interface MemberSets {
  all: number;
  bits: readonly number[];
}

const bySize: readonly MemberSets[] = Array.from({ length: exactLimit + 1 }, (_, size) => ({
  all: (1 << size) - 1,
  bits: Array.from({ length: size }, (__, index) => 1 << (size - 1 - index)),
}));

/** The sets of so many members, at most `exactLimit`. */
export function memberSets(size: number): MemberSets {
  const sets = bySize[size];
  if (sets === undefined) throw new RangeError(`sets of ${size} members are not searched`);
  return sets;
}

/** Number of members in a set of at most 16. */
export function sizeOf(set: number): number {
  const pairs = set - ((set >> 1) & 0x5555);
  const nibbles = (pairs & 0x3333) + ((pairs >> 2) & 0x3333);
  const bytes = (nibbles + (nibbles >> 4)) & 0x0f0f;
  return (bytes + (bytes >> 8)) & 0x1f;
}

/** All sets of `count` of `size` members, 1 at least, those of early members first. */
export function setsOf(count: number, size: number): number[] {
  const sets: number[] = [];
  const beyond = 1 << size;
  // The next larger number with as many bits (Hacker's Delight, 2-1).
  for (let set = (1 << count) - 1; set < beyond; ) {
    sets.push(set);
    const lowest = set & -set;
    const carried = set + lowest;
    set = carried | (((set ^ carried) >> 2) / lowest);
  }
  return sets.reverse();
}
