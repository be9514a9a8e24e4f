import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * The data folder of this machine's member: `ROOMFUL_HOME` where it is set, else the place that the system keeps for
 * applications (XDG_DATA_HOME, Application Support, LOCALAPPDATA).
 */
export function dataFolder(env: NodeJS.ProcessEnv = process.env, platform: NodeJS.Platform = process.platform): string {
  if (env.ROOMFUL_HOME) return resolve(env.ROOMFUL_HOME);
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'Roomful');
  if (platform === 'win32') return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'Roomful');
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'roomful');
}
