/** What is known of the weights of a model, and what has been read of them now. */
export interface WeightsRecord {
  /** The hash of all weights (`weightsId`) as the library keeps it; null before they were first read. */
  recorded: string | null;
  /** That of the table of hashes, and whether the table says of all tensors and files what was read; null without a table. */
  table: { weights: string; agrees: boolean } | null;
  /** That of what was read. */
  found: string;
}

/**
 * What is not as it was: `record` the library's own hash, `table` the table of hashes, `tensors` those that the table says
 * otherwise, and `model` where nothing says which of them. Only with the last two the model is damaged.
 */
export type Decayed = 'nothing' | 'record' | 'table' | 'tensors' | 'model';

/** Tells by what two of the three agree on which of them has decayed: the record, the table, or the weights. Pure. */
export function whatDecayed({ recorded, table, found }: WeightsRecord): Decayed {
  const hasRecord = recorded !== null;
  if (table === null) return !hasRecord || recorded === found ? 'nothing' : 'model';
  if (!hasRecord || recorded === table.weights) return table.agrees ? 'nothing' : 'tensors';
  if (recorded === found) return 'table';
  return table.agrees ? 'record' : 'model';
}
