import { Command, Option } from 'commander';
import { servingSizes } from '../pipeline/placement/servingSizes.ts';
import { compactPlan } from '../planner/compactPlan.ts';
import { InvalidInput } from '../planner/invalidInput.ts';
import type { Member } from '../planner/member.ts';
import { plan } from '../planner/plan.ts';
import {
  type Force,
  forces,
  type KvType,
  kvTypes,
  type PlainRam,
  type Policy,
  plainRamChoices,
  policies,
} from '../planner/planOptions.ts';
import { wholeNumber } from './demoOptions.ts';
import { type CompactShape, readPlanModel } from './planModel.ts';
import { type PlanRoom, readPlanRoom } from './planRoom.ts';
import { compactTable, planTable } from './planTable.ts';

interface PlanFlags {
  model: string;
  members: string;
  policy?: Policy;
  force?: Force;
  only?: string[];
  exclude?: string[];
  replicas?: number;
  maxReplicas?: number;
  plainRam?: PlainRam;
  coordinator?: string;
  referenceCommit?: string;
  context?: number;
  slots?: number;
  kvType?: KvType;
  promptTokens?: number;
  exact?: boolean;
  json?: boolean;
}

/**
 * `roomful plan`: where the layers of a model would go in a room, and why; nothing is served and nobody is asked.
 *
 * The model is a GGUF, of which only the header is read, or a SHAPE.json: a full `ModelShape`, or the compact `{"layers": 80,
 * "hidden_dim": 8192, "total_vram_gb": 140}`, for which `--json` prints the compact plan (`fit, forms_cluster,
 * activation_bytes_per_token, stages[address, start_layer, end_layer inclusive]` and more). MEMBERS.json is a list such as
 * `[{"address": "a1", "vram_gb": 24, "backend": "Cuda", "llama_commit": "c1"}]`; see `readPlanRoom`.
 *
 * The exit code is 0 whenever there is a plan, and `DoesNotFit` is one, in an empty room too: the question was answered, as over
 * JSON-RPC, and scripts read `fit`. Bad input is one line on stderr and exit code 1.
 */
export function planCommand(): Command {
  return new Command('plan')
    .description('where the layers of a model would go, and why')
    .requiredOption('--model <file>', 'a GGUF, or a SHAPE.json')
    .requiredOption('--members <file>', 'a MEMBERS.json')
    .addOption(
      new Option('--policy <policy>', 'hop-minimal, or proportional (the default for a compact shape)').choices(
        policies,
      ),
    )
    .addOption(new Option('--force <how>', 'one member only, or at least two').choices(forces))
    .option('--only <addresses>', 'these members alone, in this order, with commas between', addressList)
    .option('--exclude <addresses>', 'not these members', addressList)
    .option('--replicas <n>', 'pipelines wanted', wholeNumber(1, 65_536))
    .option('--max-replicas <n>', 'pipelines at most', wholeNumber(1, 65_536))
    .addOption(
      new Option('--plain-ram <when>', 'whether RAM beside GPUs holds layers; last-resort by default').choices(
        plainRamChoices,
      ),
    )
    .option('--coordinator <address>', 'who leads, instead of the one that the file names')
    .option('--reference-commit <commit>', 'the llama.cpp build that members must run')
    .option('--context <tokens>', 'context of one request', wholeNumber(1, 100_000_000))
    .option('--slots <n>', 'requests at once', wholeNumber(1, 65_536))
    .addOption(new Option('--kv-type <type>', 'type of the KV cache, f16 by default').choices(kvTypes))
    .option('--prompt-tokens <n>', 'prompt for the time to the first token', wholeNumber(1, 100_000_000))
    .option('--exact', 'activations cross the network as f32')
    .option('--json', 'the plan as JSON')
    .action(runPlan);
}

async function runPlan(flags: PlanFlags): Promise<void> {
  const [model, read] = await Promise.all([readPlanModel(flags.model), readPlanRoom(flags.members)]);
  const room = { ...read, coordinator: flags.coordinator ?? read.coordinator };
  const show = (value: object, table: string) =>
    process.stdout.write(flags.json ? `${JSON.stringify(value, null, 2)}\n` : table);
  if (model.form === 'compact') {
    for (const line of ignored(room, flags)) process.stderr.write(`roomful: ${line}\n`);
    const decided = inTheirWords(flags, () => compactPlan(compactParams(model.shape, room, flags)));
    show(decided, compactTable(decided));
    return;
  }
  const { contextLength, slots, batch, kvType } = servingSizes(model.shape, {
    contextLength: flags.context,
    slots: flags.slots,
  });
  const decided = inTheirWords(flags, () =>
    plan(room.members, model.shape, {
      contextLength,
      slots,
      batch,
      kvType: flags.kvType ?? kvType,
      policy: flags.policy,
      force: flags.force,
      members: flags.only,
      excluded: flags.exclude,
      replicas: flags.replicas,
      maxReplicas: flags.maxReplicas,
      plainRam: flags.plainRam,
      referenceCommit: flags.referenceCommit,
      promptTokens: flags.promptTokens,
      exact: flags.exact,
      links: room.links,
      measured: room.measured,
      coordinator: room.coordinator,
    }),
  );
  show(decided, planTable(decided, room.members));
}

function compactParams(model: CompactShape, { members, links, coordinator }: PlanRoom, flags: PlanFlags): object {
  return {
    model,
    members: members.map(({ address, memoryBytes, backend, build, reachability, deviceClass, paused, stale }) => ({
      address,
      vram_gb: memoryBytes / 1e9,
      backend,
      llama_commit: build,
      reachability,
      deviceClass,
      paused,
      stale,
    })),
    links,
    policy: flags.policy,
    user_forced: flags.force === 'cluster',
    force_single: flags.force === 'single',
    cluster_members: flags.only,
    excluded: flags.exclude,
    replicas: flags.replicas,
    max_replicas: flags.maxReplicas,
    reference_commit: flags.referenceCommit,
    head: coordinator,
  };
}

/** What the compact form has no use for, a line each. */
function ignored({ members, measured }: PlanRoom, flags: PlanFlags): string[] {
  const unused = [
    { name: '--context', value: flags.context },
    { name: '--slots', value: flags.slots },
    { name: '--kv-type', value: flags.kvType },
    { name: '--plain-ram', value: flags.plainRam },
    { name: '--prompt-tokens', value: flags.promptTokens },
    { name: '--exact', value: flags.exact },
  ].filter(({ value }) => value !== undefined);
  const given = [
    { name: 'speeds', has: ({ bandwidth, hostBandwidth, flops }: Member) => bandwidth ?? hostBandwidth ?? flops },
    { name: 'plain RAM beside a card', has: ({ hostMemoryBytes }: Member) => hostMemoryBytes },
    { name: 'headroom', has: ({ headroomBytes }: Member) => headroomBytes },
    { name: 'measured stages', has: ({ address }: Member) => measured.find((stage) => stage.address === address) },
  ].filter(({ has }) => members.some((member) => has(member) !== undefined));
  return [
    ...(unused.length === 0
      ? []
      : [`a compact shape has no KV cache, speeds or prompts; ignored: ${unused.map(({ name }) => name).join(', ')}.`]),
    ...(given.length === 0
      ? []
      : [`a compact shape counts memory alone; ignored of the members: ${given.map(({ name }) => name).join(', ')}.`]),
  ];
}

/** The flags behind fields of the planner. */
const flagNames = [
  { of: /^(options\.members|cluster_members)\b/, name: '--only' },
  { of: /^(options\.)?excluded\b/, name: '--exclude' },
  { of: /^(options\.referenceCommit|reference_commit)$/, name: '--reference-commit' },
];

function addressList(text: string): string[] {
  return text.split(',').map((address) => address.trim());
}

/** Runs the planner, whose refusals name its own fields, and names those of the files and flags instead. */
function inTheirWords<T>({ model, members, coordinator }: PlanFlags, decide: () => T): T {
  try {
    return decide();
  } catch (cause) {
    if (!(cause instanceof InvalidInput)) throw cause;
    const problem = cause.message.slice(cause.field.length);
    const flag = flagNames.find(({ of }) => of.test(cause.field));
    if (flag !== undefined) throw new Error(`${flag.name}${problem}`, { cause });
    const field = cause.field.replace(/^options\./, '');
    if (/^(coordinator|head)$/.test(field) && coordinator !== undefined) {
      throw new Error(`--coordinator${problem}`, { cause });
    }
    if (/^model\b/.test(field)) throw new Error(`${model}: ${field.replace(/^model\.?/, '')}${problem}`, { cause });
    throw new Error(`${members}: ${field === 'head' ? 'coordinator' : field}${problem}`, { cause });
  }
}
