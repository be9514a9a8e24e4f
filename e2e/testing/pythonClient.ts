import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../../.cache/python', import.meta.url));

/** Python as tests run it, with the packages that are installed below `.cache`. */
export const python = process.platform === 'win32' ? 'python' : 'python3';
export const pythonEnv = { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' };

/** Whether Python is there with the openai package, which is installed below `.cache` where `fetches`, and where it can be. */
export function hasPythonClient({ fetches }: { fetches: boolean }): boolean {
  if (runs('-c', 'import openai')) return true;
  if (!fetches) return false;
  mkdirSync(packages, { recursive: true });
  return (
    runs('-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', packages, 'openai') &&
    runs('-c', 'import openai')
  );
}

function runs(...args: string[]): boolean {
  try {
    execFileSync(python, args, { env: pythonEnv, stdio: 'ignore', timeout: 120_000 });
    return true;
  } catch {
    return false;
  }
}
