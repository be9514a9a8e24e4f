/** What a bench may be told, so that a part of it can be run alone. */
export interface BenchOptions {
  /** Subjects, by the beginning of their names. */
  only?: string[];
  /** Round trips, ms. */
  rtt?: number[];
  /** Requests at once. */
  concurrency?: number[];
  rounds?: number;
  minutes?: number;
}

/** Whether a subject is to be measured. */
export function isWanted(name: string, only: readonly string[] | undefined): boolean {
  return only === undefined || only.some((begin) => name.startsWith(begin));
}
