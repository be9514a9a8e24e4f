import { z } from 'zod';
import { backendNamed, backends } from '../planner/backend.ts';
import { deviceClasses, type Member, reachabilities } from '../planner/member.ts';
import type { Link, MeasuredStage } from '../planner/planOptions.ts';
import { parseJsonFile, plainWords } from './parseJsonFile.ts';

/** The members of a MEMBERS.json. */
export interface PlanRoom {
  members: Member[];
  links: Link[];
  measured: MeasuredStage[];
  coordinator: string | undefined;
}

const backend = z.string().transform((name, context) => {
  const known = backendNamed(name);
  if (known !== undefined) return known;
  context.issues.push({
    code: 'custom',
    input: name,
    message: `must be one of ${backends.join(', ')}, not ${JSON.stringify(name)}`,
  });
  return z.NEVER;
});
const text = z.string().min(1);
/** What a byte, and one a second, are in GB; more than the second is no machine, and sums would not be exact. */
const [leastGb, mostGb] = [1e-9, 9e6];
const gigabytes = z.number().min(leastGb).max(mostGb);
const bytes = z
  .number()
  .min(1)
  .max(mostGb * 1e9);
const spareBytes = z
  .number()
  .nonnegative()
  .max(mostGb * 1e9);
const common = {
  address: text,
  name: text.optional(),
  backend,
  deviceClass: z.enum(deviceClasses).optional(),
  reachability: z.enum(reachabilities).optional(),
  paused: z.boolean().optional(),
  stale: z.boolean().optional(),
};

/** A member as scripts spell it: GB where the planner has bytes. */
const scriptMember = z
  .object({
    ...common,
    vram_gb: gigabytes,
    llama_commit: text,
    host_memory_gb: z.number().nonnegative().max(mostGb).optional(),
    bandwidth_gb_s: gigabytes.optional(),
  })
  .transform(({ vram_gb: memory, llama_commit: build, host_memory_gb: host, bandwidth_gb_s: speed, ...rest }) => ({
    ...rest,
    build,
    memoryBytes: Math.round(memory * 1e9),
    hostMemoryBytes: host === undefined ? undefined : Math.round(host * 1e9),
    bandwidth: speed === undefined ? undefined : speed * 1e9,
  }));

/** A member as the planner spells it. */
const plannerMember = z.object({
  ...common,
  memoryBytes: bytes,
  build: text,
  hostMemoryBytes: spareBytes.optional(),
  bandwidth: bytes.optional(),
  hostBandwidth: bytes.optional(),
  flops: z.number().min(1).max(1e21).optional(),
  headroomBytes: spareBytes.optional(),
});

const link = z.object({
  from: text,
  to: text,
  rttMs: z.number().nonnegative().max(1e9).optional(),
  bytesPerSecond: bytes.optional(),
  reachability: z.enum(reachabilities).optional(),
});

const measuredStage = z.object({
  address: text,
  startLayer: z.int().nonnegative(),
  endLayer: z.int().positive(),
  ms: z.number().positive().max(1e9),
});

const isPlannerMember = (value: unknown) => typeof value === 'object' && value !== null && 'memoryBytes' in value;
const member = z.unknown().transform((value, context): Member => {
  const parsed = (isPlannerMember(value) ? plannerMember : scriptMember).safeParse(value, plainWords);
  if (parsed.success) return parsed.data;
  context.issues.push(...parsed.error.issues.map((issue) => ({ ...issue, code: 'custom' as const, input: value })));
  return z.NEVER;
});

const room = z.preprocess(
  (value) => (Array.isArray(value) ? { members: value } : value),
  z.object({
    members: z.array(member),
    links: z.array(link).default([]),
    measured: z.array(measuredStage).default([]),
    coordinator: text.optional(),
  }),
);

/**
 * Reads a MEMBERS.json: a list of members, or `{members, links?, measured?, coordinator?}`. A member is spelt as scripts do (`address`,
 * `vram_gb`, `backend`, `llama_commit`; if wanted `reachability`, `name`, `deviceClass`, `paused`, `stale`, `bandwidth_gb_s`,
 * `host_memory_gb`) or as the
 * planner does (`Member`, in bytes); other fields are ignored. Throws an error of one line that names file and field.
 */
export async function readPlanRoom(path: string): Promise<PlanRoom> {
  const { members, links, measured, coordinator } = await parseJsonFile(path, room);
  return { members, links, measured, coordinator };
}
