import { type Session, shell, type WebContents } from 'electron';
import { outsideLink } from './outsideLink.ts';

export interface GuardOptions {
  /** The only origin that is shown. */
  origin: string;
  onFailure(error: unknown): void;
}

/**
 * Keeps a page where it is: no navigation away from the origin, no new window, no web view. A link to the outside that was
 * clicked goes to the system's browser.
 */
export function guardContents(contents: WebContents, { origin, onFailure }: GuardOptions): void {
  const keepAtHome = (details: { preventDefault(): void; url: string }) => {
    if (originOf(details.url) !== origin) details.preventDefault();
  };
  contents.on('will-frame-navigate', keepAtHome);
  contents.on('will-redirect', keepAtHome);
  contents.on('will-attach-webview', (event) => event.preventDefault());
  contents.setWindowOpenHandler(({ url }) => {
    const link = outsideLink(url);
    if (link !== null) shell.openExternal(link).catch(onFailure);
    return { action: 'deny' };
  });
}

/** The page may write to the clipboard (its Copy buttons), save what it has made itself, and nothing else. */
export function guardSession(session: Session, origin: string): void {
  const isAllowed = (permission: string, asking: string) =>
    permission === 'clipboard-sanitized-write' && originOf(asking) === origin;
  session.setPermissionRequestHandler((contents, permission, answer) =>
    answer(isAllowed(permission, contents.getURL())),
  );
  session.setPermissionCheckHandler((_contents, permission, asking) => isAllowed(permission, asking));
  session.setDevicePermissionHandler(() => false);
  session.on('will-download', (event, item) => {
    if (!item.getURL().startsWith(`blob:${origin}/`)) event.preventDefault();
  });
}

/** The origin of a URL, null where it has none of its own (`about:blank`, `file:` and what is no URL). */
export function originOf(url: string): string | null {
  const origin = URL.canParse(url) ? new URL(url).origin : 'null';
  return origin === 'null' ? null : origin;
}
