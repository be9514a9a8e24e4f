/** Members that can hold the model together, with one order that works; indexes into the list that was searched. */
export interface Cover {
  order: readonly number[];
}
