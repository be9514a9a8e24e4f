/** The choices in order, with the value that is set even where it is none of them. */
export function choicesWith(value: number | null, choices: readonly number[]): number[] {
  const all = value === null ? choices : [...choices, value];
  return [...new Set(all)].sort((one, other) => one - other);
}
