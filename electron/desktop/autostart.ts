import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { app } from 'electron';
import { readPrivateFile, writePrivateFile } from '../pool/privateFile.ts';
import { autostartEntry } from './autostartEntry.ts';
import { HIDDEN_FLAG } from './launchRequest.ts';

/** Whether the app starts when its user signs in, as the system itself keeps it. */
export interface Autostart {
  isOn(): Promise<boolean>;
  set(on: boolean): Promise<void>;
}

/** The login items of macOS and Windows, the autostart folder of Linux desktops. Only once the app is ready. */
export function systemAutostart(
  platform: NodeJS.Platform = process.platform,
  env: NodeJS.ProcessEnv = process.env,
): Autostart {
  if (platform === 'darwin') {
    return {
      isOn: async () => app.getLoginItemSettings().openAtLogin,
      set: async (openAtLogin) => app.setLoginItemSettings({ openAtLogin }),
    };
  }
  const [program, ...args] = command(env);
  if (platform === 'win32') {
    // Windows tells entries apart by both.
    const entry = { path: program, args };
    return {
      isOn: async () => app.getLoginItemSettings(entry).openAtLogin,
      set: async (openAtLogin) => app.setLoginItemSettings({ openAtLogin, ...entry }),
    };
  }
  const path = join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'autostart', 'roomful.desktop');
  return {
    isOn: async () => isEnabled(await readPrivateFile(path)),
    set: async (on) => (on ? writePrivateFile(path, autostartEntry([program, ...args])) : rm(path, { force: true })),
  };
}

/** What starts this app again: an AppImage lies elsewhere while it runs, and Electron itself needs the app's folder. */
function command(env: NodeJS.ProcessEnv): [program: string, ...args: string[]] {
  const program = env.APPIMAGE ?? process.execPath;
  return [program, ...(app.isPackaged ? [] : [app.getAppPath()]), HIDDEN_FLAG];
}

/** Desktops switch an entry off by a line in it. */
function isEnabled(entry: string | null): boolean {
  return entry !== null && !/^(Hidden=true|X-GNOME-Autostart-enabled=false)\s*$/m.test(entry);
}
