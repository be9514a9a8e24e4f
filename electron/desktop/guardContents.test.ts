import { expect, test } from 'vitest';
import { app, session, standIn } from './testing/electronStandIn.ts';
import { start, theWindow } from './testing/shellHarness.ts';
import { gateway } from './testing/snapshots.ts';

test.each([
  ['another origin', 'https://example.com/', false],
  ['another port', 'http://127.0.0.1:4142/', false],
  ['a file', 'file:///etc/passwd', false],
  ['a script', 'javascript:alert(1)', false],
  ['itself', `${gateway}/#x`, true],
])('navigation to %s is allowed: %s %s', async (_name, url, allowed) => {
  await start();
  expect(theWindow().webContents.navigate(url)).toBe(allowed);
});

test('no new window, no web view, no permission but writing to the clipboard', async () => {
  await start();
  const contents = theWindow().webContents;
  const details = (url: string) => Object.assign(Object.create(null), { url });
  for (const url of [
    'https://example.com/a?b#c',
    'http://example.com/',
    'https://user:pass@example.com/',
    'file:///etc/passwd',
    'roomful://join/x',
    'no address',
  ]) {
    expect(contents.openHandler?.(details(url))).toEqual({ action: 'deny' });
  }
  expect(standIn.openedOutside).toEqual(['https://example.com/a?b#c']);
  let prevented = false;
  contents.emit('will-attach-webview', {
    preventDefault: () => {
      prevented = true;
    },
  });
  expect(prevented).toBe(true);
  const check = standIn.permissionCheckHandler;
  const main = { isMainFrame: true };
  expect(check?.(null, 'clipboard-sanitized-write', `${gateway}/`, main)).toBe(true);
  expect(check?.(null, 'clipboard-sanitized-write', 'http://127.0.0.1:4142/', main)).toBe(false);
  expect(check?.(null, 'clipboard-read', `${gateway}/`, main)).toBe(false);
  expect(check?.(null, 'media', `${gateway}/`, main)).toBe(false);
  expect(standIn.devicePermissionHandler?.(Object.create(null))).toBe(false);
  const downloads = (url: string): boolean => {
    let kept = true;
    session.defaultSession.emit('will-download', { preventDefault: () => (kept = false) }, { getURL: () => url });
    return kept;
  };
  expect(downloads(`blob:${gateway}/1`)).toBe(true);
  expect(downloads('https://example.com/a.exe')).toBe(false);
  expect(app.sandboxed).toBe(true);
});
