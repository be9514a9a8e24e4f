const MOST_CHARACTERS = 2000;

/**
 * The address that the system's browser may be given, null for what it may not: only https, with no user and password
 * in it, which serve to make one host look like another.
 */
export function outsideLink(url: string): string | null {
  if (url.length > MOST_CHARACTERS || !URL.canParse(url)) return null;
  const { protocol, hostname, username, password, href } = new URL(url);
  return protocol === 'https:' && hostname !== '' && username === '' && password === '' ? href : null;
}
