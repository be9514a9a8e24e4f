/** The sets of members that can hold the model together, as sets of `memberSets`. Told one by one, for few are asked for. */
export interface Covers {
  /** All sets that come into question, those of members that stand early in the list first. */
  sets: readonly number[];
  /** An order in which such a set holds the model, by indexes into the list that was searched; null where none does. */
  orderOf(set: number): readonly number[] | null;
}
