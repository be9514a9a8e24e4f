import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { writePrivateFile } from '../pool/privateFile.ts';

/**
 * Shows a link in the system's browser. Others on this machine can see what a program is started with, and whoever sees a
 * one-time link could use it first: so the browser is given a file that only its owner can read, which leads on.
 * Rejects where there is no browser to start.
 */
export async function openInBrowser(link: string, home: string): Promise<void> {
  const file = join(home, 'open-window.html');
  const target = JSON.stringify(link).replaceAll('<', '\\u003c');
  await writePrivateFile(file, `<!doctype html><meta charset="utf-8"><script>location.replace(${target})</script>\n`);
  const { program, args } = opener(process.platform);
  await new Promise<void>((resolve, reject) => {
    const child = spawn(program, [...args, file], { detached: true, stdio: 'ignore' });
    child.once('error', (cause) => reject(new Error(`${program} could not be started.`, { cause })));
    child.once('spawn', () => {
      child.unref();
      resolve();
    });
  });
}

function opener(platform: NodeJS.Platform): { program: string; args: string[] } {
  if (platform === 'darwin') return { program: 'open', args: [] };
  // `start` takes a first argument in quotes for the title of a console.
  if (platform === 'win32') return { program: 'cmd', args: ['/c', 'start', '""'] };
  return { program: 'xdg-open', args: [] };
}
