import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import type {
  DoctorReport,
  MemberMethod,
  MethodParams,
  MethodResult,
  PoolMemberDetail,
  PoolStatus,
  ServingPipeline,
  SharingSettings,
} from '../gateway/memberApi.ts';
import { formatBytes } from '../planner/formatBytes.ts';
import { createPrivateFile, readPrivateFile } from '../pool/privateFile.ts';
import { poolFingerprint } from '../pool/trust/poolFingerprint.ts';
import { callMember, followMember } from './callMember.ts';
import { homeOf, homeOption } from './homeOption.ts';
import { parseBytes } from './parseBytes.ts';
import { readPassphrase } from './readPassphrase.ts';
import { readToken } from './readToken.ts';
import { textTable } from './textTable.ts';

export interface CommonOptions {
  home?: string;
  json?: boolean;
}

interface SharingFlags {
  memory?: number | 'auto';
  battery?: boolean;
  heat?: boolean;
  gpu?: boolean;
}

/** The commands about the pool; each asks the member that runs with the same data folder. */
export function poolCommands(): Command[] {
  return [
    asking('create', 'make a pool of which this machine is the first member')
      .argument('[name]', 'what to call it', 'My pool')
      .action(async (name: string, options: CommonOptions) => {
        await tell(options, 'create', { name }, ({ pool }) => createdText(pool?.name ?? name));
      }),
    asking('invite', 'print a token that lets one machine join')
      .option('--minutes <n>', 'how long it is good for', parseMinutes, 10)
      .action(async (options: CommonOptions & { minutes: number }) => {
        const { minutes } = options;
        const lineOf = ({ token, link, fingerprint }: MethodResult<'invite'>): string =>
          [
            `On the other machine run \`roomful join\` within ${minutes} minutes, and paste this:\n\n${token}\n`,
            `Or open this link there. It asks to compare the fingerprint of the pool: ${fingerprint}\n\n${link}\n`,
          ].join('\n');
        await tell(options, 'invite', { ttlMs: Math.round(minutes * 60_000) }, lineOf);
      }),
    asking('join', 'join the pool of an invite token')
      .argument(
        '[token]',
        'from `roomful invite`; others could see it there, so without it, or with -, it is asked for',
      )
      .action(async (given: string | undefined, options: CommonOptions) => {
        const token = given === undefined || given === '-' ? await readToken() : given;
        await tell(options, 'join', { token }, ({ pool }) => `This machine is in the pool ${pool?.name}.`);
      }),
    asking('leave', 'leave the pool')
      .option('--abandon', 'also where nobody could invite or remove afterwards')
      .action(async (options: CommonOptions & { abandon?: boolean }) => {
        await tell(options, 'leave', { abandon: options.abandon ?? false }, () => 'This machine is in no pool.');
      }),
    asking('status', 'show the pool as this member sees it').action(async (options: CommonOptions) => {
      await tell(options, 'status', {}, statusText);
    }),
    asking('members', 'list the members of the pool')
      .option('--watch', 'again after every change, until Ctrl-C')
      .action(showMembers),
    asking('remove', 'remove a member from the pool; its connections end at once')
      .argument('<member>', 'its name or id')
      .action(async (member: string, options: CommonOptions) => {
        await tell(options, 'remove', { member }, () => `${member} is removed.`);
      }),
    asking('rename', 'give this machine another name')
      .argument('<name>')
      .action(async (name: string, options: CommonOptions) => {
        await tell(options, 'rename', { name }, ({ self }) => `This machine is called ${self.name}.`);
      }),
    asking('pause', 'share nothing until `roomful resume`').action(async (options: CommonOptions) => {
      await tell(options, 'pause', {}, () => 'This machine shares nothing.');
    }),
    asking('resume', 'share again').action(async (options: CommonOptions) => {
      await tell(options, 'resume', {}, () => 'This machine shares again, unless its battery, heat or owner forbid.');
    }),
    asking('sharing', 'show or change what this machine shares, and when it pauses by itself')
      .option('--memory <bytes>', 'how much memory to share, such as 8GB; auto for what is free', parseAmount)
      .option('--battery <pause>', 'on or off: pause while it runs on its battery', parseSwitch)
      .option('--heat <pause>', 'on or off: pause while it is hot', parseSwitch)
      .option('--gpu <pause>', 'on or off: pause while other programs want its graphics card', parseSwitch)
      .action(async (options: CommonOptions & SharingFlags) => {
        const { memory, battery, heat, gpu } = options;
        const change = { memoryBytes: memory === 'auto' ? null : memory, battery, heat, gpu };
        const isChange = Object.values(change).some((value) => value !== undefined);
        if (isChange) await tell(options, 'changeSharing', change, sharingText);
        else await tell(options, 'sharing', {}, sharingText);
      }),
    asking('promote', 'let a member invite and remove others too')
      .argument('<member>', 'its name or id')
      .action(async (member: string, options: CommonOptions) => {
        await tell(options, 'promote', { member }, () => `${member} is an admin now.`);
      }),
    asking('pin', 'let this machine lead once the member that leads now is gone').action(
      async (options: CommonOptions) => {
        await tell(options, 'pin', {}, () => 'This machine comes first when a leader is needed.');
      },
    ),
    asking('unpin', 'let the members choose who leads').action(async (options: CommonOptions) => {
      await tell(options, 'unpin', {}, () => 'This machine leads only where the members choose it.');
    }),
    asking('rename-pool', 'give the pool another name')
      .argument('<name>')
      .action(async (name: string, options: CommonOptions) => {
        await tell(options, 'renamePool', { name }, ({ pool }) => `The pool is called ${pool?.name}.`);
      }),
    asking('export-authority', "write the pool's key to a file, encrypted with a passphrase")
      .argument('<file>', 'a new file; keep it where a lost machine does not take it along')
      .action(exportAuthority),
    asking('import-authority', 'become an admin of a pool with an exported key')
      .argument('<file>', 'from `roomful export-authority`')
      .action(importAuthority),
    asking('doctor', 'say what is wrong, and collect what a bug report needs').action(
      async (options: CommonOptions) => {
        await tell(options, 'doctor', {}, doctorText);
      },
    ),
  ];
}

/** A command that asks the member that runs. */
export function asking(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .addOption(homeOption())
    .option('--json', 'one JSON object on stdout');
}

/** Calls a method and prints its answer, as JSON or in words. */
export async function tell<M extends MemberMethod>(
  options: CommonOptions,
  method: M,
  params: MethodParams<M>,
  inWords: (result: MethodResult<M>) => string,
): Promise<void> {
  const result = await callMember(homeOf(options), method, params);
  process.stdout.write(`${options.json ? JSON.stringify(result) : inWords(result)}\n`);
}

async function exportAuthority(file: string, options: CommonOptions): Promise<void> {
  const home = homeOf(options);
  const passphrase = await readPassphrase({ isNew: true });
  const { text } = await callMember(home, 'exportAuthority', { passphrase });
  const path = resolve(file);
  if (!(await createPrivateFile(path, text))) throw new Error(`${path} is there already. Name a new file.`);
  const line = `The pool's key is in ${path}. Who has the file and the passphrase is an admin of the pool.`;
  process.stdout.write(`${options.json ? JSON.stringify({ file: path }) : line}\n`);
}

async function importAuthority(file: string, options: CommonOptions): Promise<void> {
  const exported = await readPrivateFile(resolve(file));
  if (exported === null) throw new Error(`There is no file ${resolve(file)}.`);
  const passphrase = await readPassphrase({ isNew: false });
  const lineOf = ({ pool }: PoolStatus): string => `This machine is an admin of the pool ${pool?.name}.`;
  await tell(options, 'importAuthority', { text: exported, passphrase }, lineOf);
}

async function showMembers(options: CommonOptions & { watch?: boolean }): Promise<void> {
  const home = homeOf(options);
  const show = (members: PoolMemberDetail[]): void => {
    process.stdout.write(`${options.json ? JSON.stringify(members) : membersTable(members)}\n`);
  };
  if (!options.watch) {
    show(await callMember(home, 'members', {}));
    return;
  }
  for await (const line of followMember(home, '/api/watch')) {
    if (!options.json) process.stdout.write(`\n${new Date().toLocaleTimeString()}\n`);
    show(JSON.parse(line) as PoolMemberDetail[]);
  }
  throw new Error('The member has ended.');
}

function statusText({ self, pool, coordinator, epoch, members, pipelines }: PoolStatus): string {
  const leader = members.find(({ id }) => id === coordinator);
  const lead = leader === undefined ? 'nobody leads' : `${leader.name} leads, epoch ${epoch?.counter}`;
  const heading = pool === null ? `${self.name} is in no pool.` : `${self.name} in the pool ${pool.name}; ${lead}.`;
  const serving = pipelines.map(pipelineLine);
  const rows = members.map(({ name, state, address, shareBytes, reject }) => [
    name,
    state,
    address ?? '',
    formatBytes(shareBytes),
    reject?.kind ?? '',
  ]);
  const about = pool === null ? [heading] : [heading, `Fingerprint of the pool: ${poolFingerprint(pool.id)}`];
  return [...about, '', textTable(['member', 'state', 'address', 'shares', ''], rows), ...serving].join('\n');
}

function pipelineLine({ modelId, state, reason, placement, hops, driver }: ServingPipeline): string {
  const where = [...new Set(placement.map(({ member }) => member))].join(', ');
  const over = where === '' ? `, planned by ${driver.name}` : ` on ${where}, ${hops} ${hops === 1 ? 'hop' : 'hops'}`;
  return `${modelId}: ${state}${over}${reason === null ? '' : `: ${reason}`}`;
}

function membersTable(members: PoolMemberDetail[]): string {
  const rows = members.map(
    ({ id, name, state, self, admin, leads, pinned, address, shareBytes, reject, paused, link }) => [
      name,
      state,
      address ?? '',
      formatBytes(shareBytes),
      link === null ? '' : `${link.rttMs.toFixed(1)} ms`,
      link === null ? '' : `${formatBytes(link.bytesPerSecond)}/s`,
      [
        self && 'this machine',
        admin && 'admin',
        leads && 'leads',
        pinned && 'pinned',
        paused.length > 0 && `paused (${paused.join(', ')})`,
        reject?.kind,
      ]
        .filter(Boolean)
        .join(', '),
      id.slice(0, 12),
    ],
  );
  return textTable(['member', 'state', 'address', 'shares', 'round trip', 'throughput', '', 'id'], rows);
}

function doctorText(report: DoctorReport): string {
  const { problems, network } = report;
  const found = problems.length === 0 ? ['Nothing is wrong, as far as this member can tell.'] : problems;
  const multicast = network.multicast === null ? 'Multicast is not used.' : network.multicast.message;
  return [...found, multicast, 'For a bug report add the output of: roomful doctor --json'].join('\n');
}

function createdText(pool: string): string {
  return [
    `The pool ${pool} is made. Now: roomful invite`,
    'This machine is its only admin. Promote another member later, or keep the key: roomful export-authority FILE',
  ].join('\n');
}

function sharingText({ paused, memoryBytes, manners }: SharingSettings): string {
  const { battery, heat, gpu } = manners;
  const when = [
    battery.pause && 'on battery',
    heat.pause && `from ${heat.cpuCelsius} degrees on, its graphics card from ${heat.gpuCelsius}`,
    gpu.pause && `while other programs take more than ${gpu.percent} % of its graphics card`,
  ].filter((reason) => reason !== false);
  return [
    paused ? 'Paused until `roomful resume`.' : 'Shares.',
    memoryBytes === null ? 'As much memory as is free.' : `${formatBytes(memoryBytes)} of memory.`,
    when.length === 0 ? 'Never pauses by itself.' : `Pauses by itself ${when.join('; ')}.`,
  ].join('\n');
}

function parseAmount(text: string): number | 'auto' {
  return text === 'auto' ? text : parseBytes(text);
}

function parseSwitch(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new InvalidArgumentError('Give on or off.');
}

function parseMinutes(text: string): number {
  const minutes = Number(text);
  if (text.trim() !== '' && minutes > 0 && minutes <= 7 * 24 * 60) return minutes;
  throw new InvalidArgumentError('Give a number of minutes, at most a week.');
}
