/**
 * Exchanges the one-time token of the link (`#token=...`) for a session cookie, or finds out whether there is one. The
 * token stands in the fragment, which no server log and no Referer ever sees, and leaves the address bar at once.
 */
export async function signIn(): Promise<'open' | 'locked' | 'unreachable'> {
  const token = new URLSearchParams(window.location.hash.slice(1)).get('token');
  if (token !== null) window.history.replaceState(null, '', window.location.pathname);
  try {
    if (token !== null) {
      const exchange = await fetch('/window/session', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      });
      if (exchange.ok) return 'open';
    }
    const session = await fetch('/window/session');
    if (session.ok) return 'open';
    return session.status === 401 ? 'locked' : 'unreachable';
  } catch {
    return 'unreachable';
  }
}
