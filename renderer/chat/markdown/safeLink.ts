/**
 * Where a link of an answer may lead: only to https, with no user and password in it, which serve to make one host look
 * like another; null for all else, this member's own pages and commands too. The desktop app looks once more before it
 * hands an address to the system's browser.
 */
export function safeLink(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname, username, password, href } = new URL(url);
  return protocol === 'https:' && hostname !== '' && username === '' && password === '' ? href : null;
}
