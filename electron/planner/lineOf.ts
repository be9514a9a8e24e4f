/** The plain line of anything that was thrown. */
export function lineOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
