import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { ReadyMember } from './headlessReady.ts';
import { startMember } from './member.ts';
import { nodeLauncher } from './stage/nodeLauncher.ts';

/** A member without a display, below a process that talks to it over IPC and without which it ends. */

const optionsSchema = z.object({
  home: z.string().min(1),
  name: z.string().min(1),
  memory: z.coerce.number().int().positive(),
  threads: z.coerce.number().int().positive(),
});

async function main(): Promise<void> {
  // Before anything else, so that a parent that dies meanwhile is noticed; it may have died while this file was loaded.
  process.on('disconnect', () => process.exit(0));
  if (!process.connected) process.exit(0);
  // Ctrl-C reaches everyone in the terminal; the parent decides when its members leave.
  process.on('SIGINT', () => {});
  const string = { type: 'string' } as const;
  const { values } = parseArgs({ options: { home: string, name: string, memory: string, threads: string } });
  const { home, name, memory, threads } = optionsSchema.parse(values);
  const member = await startMember({
    home,
    name,
    memoryBytes: memory,
    threads,
    launcher: nodeLauncher,
    windowFolder: fileURLToPath(new URL('../renderer', import.meta.url)),
  });
  let closing = false;
  const end = (): void => {
    if (closing) return;
    closing = true;
    member.close().then(
      () => process.exit(0),
      (cause: unknown) => {
        process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  const { id, address, gateway, tokenFile } = member;
  process.send?.({ id, name, address, gateway, tokenFile, windowLink: member.windowLink() } satisfies ReadyMember);
}

main().catch((cause: unknown) => {
  process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
  process.exit(1);
});
