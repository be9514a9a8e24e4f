import { join } from 'node:path';
import { app, dialog, Menu, session } from 'electron';
import type { DesktopMember } from './desktopMember.ts';
import { guardPermissions } from './guardContents.ts';
import { MainWindow } from './mainWindow.ts';
import { showTray } from './showTray.ts';
import { serveWindowOverIpc } from './windowIpc.ts';

export interface DesktopOptions {
  startMember(): Promise<DesktopMember>;
  /** The bundled preload script. */
  preload: string;
  /** Folder of the app's and the tray's icons. */
  icons: string;
}

const CLOSE_DEADLINE_MS = 8_000;

/**
 * The desktop app: one instance, one member, one window, one tray icon. Resolves when the window is shown, or at once
 * in a second instance, which hands over to the first and ends. Must be called before Electron is ready.
 */
export async function startDesktop({ startMember, preload, icons }: DesktopOptions): Promise<void> {
  if (!app.requestSingleInstanceLock()) {
    app.quit();
    return;
  }
  let window: MainWindow | null = null;
  let quitting = false;
  const open = () => {
    if (!quitting) window?.show().catch(reportFailure);
  };
  app.on('second-instance', open);
  app.on('activate', open);
  // The app lives in the tray; where the window is really closed, it is because the app quits.
  app.on('window-all-closed', () => {});

  await app.whenReady();
  const starting = startMember();
  app.on('before-quit', (event) => {
    event.preventDefault();
    if (quitting) return;
    quitting = true;
    endMember(starting).then(
      () => app.exit(0),
      () => app.exit(1),
    );
  });

  try {
    const member = await starting;
    if (quitting) return;
    Menu.setApplicationMenu(applicationMenu());
    guardPermissions(session.defaultSession, member.gateway);
    serveWindowOverIpc(member.api, member.gateway);
    window = new MainWindow({
      origin: member.gateway,
      preload,
      icon: join(icons, '512x512.png'),
      hidesOnClose: () => !quitting,
    });
    showTray({ state: member.state, icons, onOpen: open, onQuit: () => app.quit(), onFailure: reportFailure });
    await window.show().catch(reportFailure);
  } catch (error) {
    if (quitting) return;
    reportFailure(error);
    app.quit();
  }
}

/** Ends the member with all its children; the children end by themselves when it takes too long. */
async function endMember(starting: Promise<DesktopMember>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('The member did not end in time.')), CLOSE_DEADLINE_MS);
  });
  try {
    await Promise.race([starting.then((member) => member.close()), deadline]);
  } finally {
    clearTimeout(timer);
  }
}

function reportFailure(error: unknown): void {
  dialog.showErrorBox('Roomful', error instanceof Error ? error.message : String(error));
}

/** Shortcuts for copy and paste come with it on macOS; elsewhere they need no menu. */
function applicationMenu(): Menu | null {
  if (process.platform !== 'darwin') return null;
  return Menu.buildFromTemplate([{ role: 'appMenu' }, { role: 'editMenu' }, { role: 'windowMenu' }]);
}
