/** The first sentence of an explanation; a dot within a number, a name or an address ends none. */
export function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text.trim())?.[0] ?? text.trim();
}
