import type { Session, WebContents } from 'electron';

/** Keeps a page where it is: no navigation away from `origin`, no new window, no web view. */
export function guardContents(contents: WebContents, origin: string): void {
  const keepAtHome = (details: { preventDefault(): void; url: string }) => {
    if (originOf(details.url) !== origin) details.preventDefault();
  };
  contents.on('will-frame-navigate', keepAtHome);
  contents.on('will-redirect', keepAtHome);
  contents.on('will-attach-webview', (event) => event.preventDefault());
  contents.setWindowOpenHandler(() => ({ action: 'deny' }));
}

/** The page may write to the clipboard (its Copy buttons) and nothing else. */
export function guardPermissions(session: Session, origin: string): void {
  const isAllowed = (permission: string, asking: string) =>
    permission === 'clipboard-sanitized-write' && originOf(asking) === origin;
  session.setPermissionRequestHandler((contents, permission, answer) =>
    answer(isAllowed(permission, contents.getURL())),
  );
  session.setPermissionCheckHandler((_contents, permission, asking) => isAllowed(permission, asking));
}

/** The origin of a URL, null where it has none of its own (`about:blank`, `file:` and what is no URL). */
export function originOf(url: string): string | null {
  const origin = URL.canParse(url) ? new URL(url).origin : 'null';
  return origin === 'null' ? null : origin;
}
