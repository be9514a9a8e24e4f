import { parseArgs } from 'node:util';
import { parseBytes } from '../../../electron/cli/parseBytes.ts';
import { startMember } from '../../../electron/member.ts';
import { nodeLauncher } from '../../../electron/stage/nodeLauncher.ts';

/** `roomful up`, by a member that says it has the build of `--build`, as another release would. */
const string = { type: 'string' } as const;
const options = { name: string, home: string, memory: string, build: string, json: { type: 'boolean' } } as const;
const { name = '', home = '', memory = '', build = '' } = parseArgs({ options, allowPositionals: true }).values;
const member = await startMember({
  home,
  name,
  build,
  memoryBytes: parseBytes(memory),
  threads: 1,
  launcher: nodeLauncher,
  lan: { multicast: true },
});
const { id, addresses, gateway } = member;
process.stdout.write(`${JSON.stringify({ id, name, addresses, gateway })}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void member.close());
