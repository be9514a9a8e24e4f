import { availableParallelism, hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { callMember } from './callMember.ts';
import { wholeNumber } from './demoOptions.ts';
import { exitWithParent } from './exitWithParent.ts';
import { homeOf, homeOption } from './homeOption.ts';
import { openInBrowser } from './openInBrowser.ts';
import { parseBytes } from './parseBytes.ts';

interface UpOptions {
  home?: string;
  name?: string;
  port: number;
  endpointPort?: number;
  memory?: number;
  threads?: number;
  mdns: boolean;
  json?: boolean;
  open?: boolean;
}

/** `roomful up`: a member in the foreground, until Ctrl-C. */
export function upCommand(): Command {
  return new Command('up')
    .description('run a member of this machine, in the foreground')
    .option('--name <name>', 'what to call it; `roomful rename` changes it later')
    .addOption(homeOption())
    .option('--port <port>', 'port for other members, 0 for any free one', wholeNumber(0, 65_535), 0)
    .option(
      '--endpoint-port <port>',
      'port of the endpoint on this machine; that of the last time where left out',
      wholeNumber(1, 65_535),
    )
    .option('--memory <bytes>', 'how much memory to share, such as 8GB', parseBytes)
    .option('--threads <n>', 'threads of each stage; all cores where left out', wholeNumber(1, 1024))
    .option('--no-mdns', 'neither look for others nor be found by multicast')
    .option('--open', 'open the window in the browser; also of a member that runs already')
    .option('--json', 'the ready line as one JSON object')
    .action(runUp);
}

async function runUp(options: UpOptions): Promise<void> {
  const home = homeOf(options);
  const other = await callMember(home, 'state', {}).catch(() => null);
  if (other !== null && options.open) {
    await showWindow((await callMember(home, 'windowLink', {})).link, home);
    return;
  }
  if (other !== null) throw new Error(`The member ${other.self.name} runs with the data folder ${home} already.`);
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
    process.stdout.on('error', () => resolve());
    exitWithParent(resolve);
  });
  // Not at the top: loading a member takes most of a second, which every other command would wait for.
  const [{ startMember }, { nodeLauncher }] = await Promise.all([
    import('../member.ts'),
    import('../stage/nodeLauncher.ts'),
  ]);
  const member = await startMember({
    home,
    name: options.name ?? hostname(),
    ...(options.memory !== undefined && { memoryBytes: options.memory }),
    threads: options.threads ?? availableParallelism(),
    launcher: nodeLauncher,
    lan: { multicast: options.mdns },
    port: options.port,
    ...(options.endpointPort !== undefined && { gatewayPort: options.endpointPort }),
    windowFolder: fileURLToPath(new URL('../../renderer', import.meta.url)),
  });
  const { id, name, addresses, gateway } = member;
  const where = addresses.length === 0 ? 'no network address' : addresses.join(', ');
  const line = options.json
    ? JSON.stringify({ id, name, addresses, gateway })
    : `${name} is ready at ${where}; its endpoint is ${gateway}/v1`;
  process.stdout.write(`${line}\n`);
  if (options.open) await showWindow(member.windowLink(), home);
  await stopped;
  await member.close();
}

/** The link is printed where no browser starts. The ready line may be read by a program, so it stands alone on stdout. */
async function showWindow(link: string, home: string): Promise<void> {
  try {
    await openInBrowser(link, home);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    process.stderr.write(`roomful: ${reason} Open this link in a browser; it works once: ${link}\n`);
  }
}
