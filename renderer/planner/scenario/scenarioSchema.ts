import { z } from 'zod';
import { backends } from '../../../electron/planner/backend.ts';
import { reachabilities } from '../../../electron/planner/member.ts';
import { forces, kvTypes, plainRamChoices, policies } from '../../../electron/planner/planOptions.ts';
import type { Scenario } from './scenario.ts';

const name = z.string().min(1).max(200);
const bytes = z.number().min(0).max(9e15);
const milliseconds = z.number().min(0).max(1e6);
const rate = z.number().min(1).max(9e15);
const count = (most: number) => z.int().min(1).max(most);

const member = z.strictObject({
  id: name,
  name,
  real: z.boolean(),
  included: z.boolean(),
  backend: z.enum(backends),
  memoryBytes: bytes,
  hostMemoryBytes: bytes,
  bandwidth: rate.nullable(),
  addedMs: milliseconds,
  build: name,
});

const link = z.strictObject({
  from: name,
  to: name,
  rttMs: milliseconds.optional(),
  bytesPerSecond: rate.optional(),
  reachability: z.enum(reachabilities).optional(),
});

const numbers = {
  layers: count(512),
  hiddenSize: count(65_536),
  weightBytes: z.number().min(1e6).max(9e15),
};

const layer = z.strictObject({
  /** How many layers in a row are like this one. */
  count: count(512),
  weightBytes: bytes,
  kvBytesPerToken: bytes,
  slidingWindow: count(9e15).nullable(),
  expertBytes: bytes.optional(),
  stateBytesPerSlot: bytes.optional(),
});

/** Of a model's header; the planner refuses what does not go together. */
const shape = z.strictObject({
  name,
  architecture: name,
  hiddenSize: count(1e6),
  vocabularySize: count(1e9),
  contextLength: z.int().min(0),
  layers: z
    .array(layer)
    .max(512)
    .transform((runs) => runs.flatMap(({ count: many, ...alike }) => Array.from({ length: many }, () => alike)))
    .refine((layers) => layers.length <= 512, 'has too many layers'),
  embeddingBytes: bytes,
  outputBytes: bytes,
  sharedBytes: bytes,
  tiedBytes: bytes.optional(),
  cutPoints: z.array(count(512)).max(512),
  unsplittableReason: z.string().max(1000).nullable(),
  attentionHeads: count(1e6).optional(),
  feedForwardSize: count(1e9).optional(),
  parameters: z.number().min(0).optional(),
  experts: z.strictObject({ count: count(1e6), usedPerToken: count(1e6) }).nullish(),
});

const model = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('known'), id: name }),
  z.strictObject({ kind: z.literal('own'), ...numbers }),
  z.strictObject({
    kind: z.literal('library'),
    id: name,
    name,
    ...numbers,
    shape: shape.nullable().default(null),
    speeds: z.record(name, z.number().min(1e-3).max(1e3)).optional(),
  }),
]);

const position = z.strictObject({ x: z.number().min(-1e6).max(1e6), y: z.number().min(-1e6).max(1e6) });

const question = z.strictObject({
  members: z
    .array(member)
    .max(256)
    .refine((members) => new Set(members.map(({ id }) => id)).size === members.length, 'names a member twice'),
  coordinator: name.nullable().default(null),
  links: z.array(link).max(65_536),
  network: z.strictObject({ rttMs: milliseconds, bytesPerSecond: rate }),
  model,
  context: count(10_000_000),
  slots: count(1024),
  kvType: z.enum(kvTypes),
  policy: z.enum(policies),
  force: z.enum(forces).nullable(),
  replicas: count(256).nullable(),
  plainRam: z.enum(plainRamChoices),
});

/** A scenario from outside: a link or a file. Links to members that it does not have are left out. */
export const scenarioSchema: z.ZodType<Scenario> = z
  .strictObject({ question, positions: z.record(name, position) })
  .transform(({ question: asked, positions }) => {
    const ids = new Set(asked.members.map(({ id }) => id));
    const links = asked.links.filter(({ from, to }) => from !== to && ids.has(from) && ids.has(to));
    return { question: { ...asked, links }, positions };
  });
