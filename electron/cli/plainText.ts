/**
 * Text of a file's author or another machine as it may stand in a line of a terminal: without what would move its cursor, turn
 * the direction of writing or begin a line, and no longer than `most` characters.
 */
export function plainText(text: string, most: number): string {
  // Whoever fills a header with megabytes must not make this slow.
  const plain = text
    .slice(0, most * 4)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}]+/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  const characters = [...plain];
  return characters.length <= most && text.length <= most * 4 ? plain : `${characters.slice(0, most - 1).join('')}…`;
}
