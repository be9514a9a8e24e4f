import { fileURLToPath } from 'node:url';

/** The path of a compiled file such as `electron/cli/main.js`, also for a caller that was compiled itself, as benches are. */
export function builtFile(path: string): string {
  const dist = import.meta.url.endsWith('.ts') ? '../../dist/' : '../../';
  return fileURLToPath(new URL(`${dist}${path}`, import.meta.url));
}
