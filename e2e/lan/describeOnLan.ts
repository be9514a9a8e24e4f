import { spawnSync } from 'node:child_process';
import { describe, vi } from 'vitest';
import { ownerPrefix } from './namespaces.ts';

// Members and commands are processes, which take their time on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** `describe` for tests that need a LAN in a box; skipped, with one loud line, where this machine cannot make one. */
export const describeOnLan = describe.skipIf(whyNoLan() !== null);

function whyNoLan(): string | null {
  const why = missing();
  if (why !== null) console.warn(`\n*** SKIPPED: the tests of the LAN in a box. ${why} ***\n`);
  return why;
}

function missing(): string | null {
  if (process.platform !== 'linux') return 'Network namespaces exist on Linux only.';
  const { error } = spawnSync('setpriv', ['--version']);
  if (error) return `setpriv (util-linux) cannot be run: ${error.message}`;
  const name = `${ownerPrefix(process.pid)}-probe`;
  const added = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  if (added.error) return `ip (iproute2) cannot be run: ${added.error.message}`;
  if (added.status !== 0) return `Network namespaces cannot be made here (root is needed): ${added.stderr.trim()}`;
  const bridged = spawnSync('ip', ['-n', name, 'link', 'add', 'probe', 'type', 'bridge'], { encoding: 'utf8' });
  spawnSync('ip', ['netns', 'delete', name]);
  return bridged.status === 0 ? null : `Bridges cannot be made here: ${bridged.stderr.trim()}`;
}
