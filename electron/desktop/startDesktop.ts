import { app, Menu, type MenuItemConstructorOptions } from 'electron';
import { systemAutostart } from './autostart.ts';
import type { DesktopMember } from './desktopMember.ts';
import { DesktopShell } from './desktopShell.ts';
import { ask, reportFailure } from './dialogs.ts';
import { type LaunchRequest, launchRequest } from './launchRequest.ts';
import { quitQuestion } from './quitQuestion.ts';
import { Quitting } from './quitting.ts';
import type { Updater } from './updater.ts';

export interface DesktopOptions {
  startMember(): Promise<DesktopMember>;
  /** The bundled preload script. */
  preload: string;
  /** Folder of the app's and the tray's icons. */
  icons: string;
  /** Data folder. */
  home: string;
  updater: Updater;
  /** The command line after the program. */
  args: readonly string[];
}

const APP_ID = 'dev.roomful.desktop'; // as in electron-builder.yml: Windows finds the notifications' app by it
const LINK_SCHEME = 'roomful';

/**
 * The desktop app: one instance, one member, one window, one tray icon. Resolves when the window is shown, or at once
 * in a second instance, which hands over to the first and ends. Must be called before Electron is ready.
 */
export async function startDesktop(options: DesktopOptions): Promise<void> {
  if (!app.requestSingleInstanceLock()) {
    app.quit();
    return;
  }
  app.enableSandbox();
  app.setAppUserModelId(APP_ID);
  let shell: DesktopShell | null = null;
  // macOS hands links and files over before the app is ready, a second start may while the member comes up.
  const early: LaunchRequest[] = [];
  const take = (request: LaunchRequest) => {
    if (shell === null) early.push(request);
    else shell.take(request);
  };
  app.on('second-instance', (_event, args, folder) => take(launchRequest(args.slice(1), folder)));
  app.on('open-url', (event, link) => {
    event.preventDefault();
    take({ links: [link], files: [], hidden: false });
  });
  app.on('open-file', (event, file) => {
    event.preventDefault();
    take({ links: [], files: [file], hidden: false });
  });
  // Not noted while it starts: macOS tells of the start itself too.
  app.on('activate', () => shell?.open());
  // The app lives in the tray; where the window is really closed, it is because the app quits.
  app.on('window-all-closed', () => {});

  await app.whenReady();
  const { startMember, args, ...rest } = options;
  const starting = startMember();
  const quitting = new Quitting({
    ask: async () => mayQuit(shell === null ? null : await starting),
    end: async () => (await starting).close(),
  });
  try {
    const member = await starting;
    if (quitting.isDecided) return;
    if (app.isPackaged) app.setAsDefaultProtocolClient(LINK_SCHEME);
    Menu.setApplicationMenu(applicationMenu());
    shell = await DesktopShell.start({ ...rest, member, quitting, autostart: systemAutostart() });
    take(firstRequest(args));
    for (const request of early) take(request);
  } catch (error) {
    if (quitting.isDecided) return;
    reportFailure(error);
    quitting.now(1);
  }
}

/** macOS does not pass arguments to what it starts at login. */
function firstRequest(args: readonly string[]): LaunchRequest {
  const request = launchRequest(args, process.cwd());
  if (process.platform !== 'darwin') return request;
  return { ...request, hidden: request.hidden || app.getLoginItemSettings().wasOpenedAtLogin };
}

/** Asks where layers on this machine serve somebody; a member that still starts serves nobody. */
async function mayQuit(member: DesktopMember | null): Promise<boolean> {
  if (member === null) return true;
  const question = quitQuestion(await member.api.call('state', {}));
  return question === null || ask({ ...question, action: 'Quit', otherwise: 'Cancel' });
}

/** Copy, paste and zoom by keys come with it; it is shown where the system shows menus, or by Alt. */
function applicationMenu(): Menu {
  const view: MenuItemConstructorOptions = {
    label: 'View',
    submenu: [
      { role: 'resetZoom' },
      { role: 'zoomIn' },
      { role: 'zoomOut' },
      { type: 'separator' },
      { role: 'togglefullscreen' },
    ],
  };
  const own: MenuItemConstructorOptions[] = process.platform === 'darwin' ? [{ role: 'appMenu' }] : [];
  return Menu.buildFromTemplate([...own, { role: 'editMenu' }, view, { role: 'windowMenu' }]);
}
