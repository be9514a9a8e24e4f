import { posix, win32 } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a start of the app asks for; a second start hands it to the first one. */
export interface LaunchRequest {
  /** `roomful://` links, in the order in which they were given. */
  links: string[];
  /** Absolute paths of model files. */
  files: string[];
  /** The system started it at login: nobody waits for a window. */
  hidden: boolean;
}

/** Given by the autostart entry. */
export const HIDDEN_FLAG = '--hidden';

const LINK = /^roomful:/i;
const MODEL = /\.gguf$/i;

/**
 * Reads a command line. Chromium's own switches, the app's path and whatever else is no link and no model are passed over;
 * relative paths are meant from `folder`.
 */
export function launchRequest(
  args: readonly string[],
  folder: string,
  platform: NodeJS.Platform = process.platform,
): LaunchRequest {
  const rules = platform === 'win32' ? win32 : posix;
  const request: LaunchRequest = { links: [], files: [], hidden: args.includes(HIDDEN_FLAG) };
  for (const arg of args) {
    if (arg.startsWith('-')) continue;
    if (LINK.test(arg)) request.links.push(arg);
    else if (MODEL.test(arg)) request.files.push(rules.resolve(folder, plainPath(arg, platform)));
  }
  return request;
}

/** Some file managers hand over `file://` addresses. */
function plainPath(arg: string, platform: NodeJS.Platform): string {
  if (!arg.startsWith('file://')) return arg;
  try {
    return fileURLToPath(arg, { windows: platform === 'win32' });
  } catch {
    return arg;
  }
}
