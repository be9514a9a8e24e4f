import { parseArgs } from 'node:util';
import { startMember } from '../../../electron/member.ts';
import { nodeLauncher } from '../../../electron/stage/nodeLauncher.ts';

/** `roomful up --name NAME --home HOME --memory BYTES` with the build BUILD, as after an update. */
const string = { type: 'string' } as const;
const { values } = parseArgs({ options: { name: string, home: string, memory: string, build: string } });
const { name = '', home = '', memory, build = '' } = values;
const member = await startMember({
  home,
  name,
  build,
  memoryBytes: Number(memory),
  threads: 1,
  launcher: nodeLauncher,
  lan: { multicast: true },
});
const { id, addresses, gateway } = member;
process.stdout.write(`${JSON.stringify({ id, name, addresses, gateway })}\n`);
process.once('SIGTERM', () => void member.close());
