import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compactPlan } from './compactPlan.ts';
import { equalLayers } from './equalLayers.ts';
import { InvalidInput } from './invalidInput.ts';
import type { Member } from './member.ts';
import { plan } from './plan.ts';
import { stageBytes } from './stageBytes.ts';

const member = {
  address: 'a1',
  backend: 'Cuda',
  memoryBytes: 24e9,
  hostMemoryBytes: 8e9,
  bandwidth: 500e9,
  hostBandwidth: 40e9,
  flops: 1e13,
  headroomBytes: 1e9,
  build: 'c1',
  reachability: 'Direct',
  paused: false,
  stale: false,
};
const other = { ...member, address: 'b2' };
const model = {
  ...equalLayers(4, 1),
  parameters: 32,
  attentionHeads: 8,
  feedForwardSize: 32,
  experts: { count: 8, usedPerToken: 2 },
  layers: equalLayers(4, 1).layers.map((layer) => ({
    ...layer,
    expertBytes: 1,
    stateBytesPerSlot: 4,
    slidingWindow: 512,
  })),
};
const options = {
  policy: 'hop-minimal',
  force: 'cluster',
  members: ['a1', 'b2'],
  excluded: [] as string[],
  replicas: 1,
  maxReplicas: 2,
  plainRam: 'never',
  coordinator: 'a1',
  referenceCommit: 'c1',
  links: [{ from: 'a1', to: 'b2', rttMs: 1, bytesPerSecond: 1e8, reachability: 'Direct' }],
  measured: [{ address: 'a1', startLayer: 0, endLayer: 2, ms: 3 }],
  exact: false,
  promptTokens: 512,
  contextLength: 4096,
  slots: 4,
  kvType: 'f16',
  swaFull: true,
  batch: 512,
  draft: { bytes: 1e9, tokens: 4 },
  engineHostBytes: 1e6,
  headroom: 0.05,
};
const scene = { members: [member, other], model, options };

const bad = { NaN: Number.NaN, negative: -1, infinite: Number.POSITIVE_INFINITY, huge: 1e300, text: '7', list: [7] };
type Bad = keyof typeof bad | 'zero' | 'missing';

/** Numeric fields, and what they refuse beside what every number refuses. */
const numbers: readonly (readonly [string, ...('zero' | 'missing')[]])[] = [
  ['members[0].memoryBytes', 'zero', 'missing'],
  ['members[1].memoryBytes', 'zero', 'missing'],
  ['members[0].hostMemoryBytes'],
  ['members[0].bandwidth', 'zero'],
  ['members[0].hostBandwidth', 'zero'],
  ['members[0].flops', 'zero'],
  ['members[0].headroomBytes'],
  ['model.hiddenSize', 'zero', 'missing'],
  ['model.vocabularySize', 'zero', 'missing'],
  ['model.contextLength', 'missing'],
  ['model.embeddingBytes', 'missing'],
  ['model.outputBytes', 'missing'],
  ['model.sharedBytes', 'missing'],
  ['model.tiedBytes'],
  ['model.parameters', 'zero'],
  ['model.attentionHeads', 'zero'],
  ['model.feedForwardSize', 'zero'],
  ['model.experts.count', 'zero', 'missing'],
  ['model.experts.usedPerToken', 'zero', 'missing'],
  ['model.layers[2].weightBytes', 'zero', 'missing'],
  ['model.layers[2].kvBytesPerToken', 'missing'],
  ['model.layers[2].slidingWindow', 'zero', 'missing'],
  ['model.layers[2].expertBytes'],
  ['model.layers[2].stateBytesPerSlot'],
  ['model.cutPoints[1]', 'zero', 'missing'],
  ['options.replicas', 'zero'],
  ['options.maxReplicas', 'zero'],
  ['options.links[0].rttMs'],
  ['options.links[0].bytesPerSecond', 'zero'],
  ['options.measured[0].startLayer', 'missing'],
  ['options.measured[0].endLayer', 'zero', 'missing'],
  ['options.measured[0].ms', 'zero', 'missing'],
  ['options.promptTokens', 'zero'],
  ['options.contextLength', 'zero'],
  ['options.slots', 'zero'],
  ['options.batch', 'zero'],
  ['options.draft.bytes', 'missing'],
  ['options.draft.tokens', 'missing'],
  ['options.engineHostBytes'],
  ['options.headroom'],
];
/** Fields that divide something: what is next to nothing there would make times without end. */
const divisors = [
  'members[0].bandwidth',
  'members[0].hostBandwidth',
  'members[0].flops',
  'model.layers[2].weightBytes',
  'options.links[0].bytesPerSecond',
  'options.measured[0].ms',
];
const badNumbers = numbers.flatMap(([field, ...also]) =>
  [...(Object.keys(bad) as Bad[]), ...also].map((kind) => ({ field, kind })),
);

/** Fields that hold a name or a choice, and a value that none of them knows. */
const badChoices = [
  { field: 'members[0].address', value: '' },
  { field: 'members[1].address', value: 'a1' },
  { field: 'members[0].address', value: 7 },
  { field: 'members[0].backend', value: 'Abacus' },
  { field: 'members[0].backend', value: undefined },
  { field: 'members[0].deviceClass', value: 'tpu' },
  { field: 'members[0].build', value: '' },
  { field: 'members[0].build', value: undefined },
  { field: 'members[0].reachability', value: 'Telepathy' },
  { field: 'members[0].paused', value: 'yes' },
  { field: 'members[0].stale', value: 1 },
  { field: 'members[0]', value: null },
  { field: 'members', value: 'all' },
  { field: 'model', value: undefined },
  { field: 'model.name', value: '' },
  { field: 'model.architecture', value: 7 },
  { field: 'model.unsplittableReason', value: '' },
  { field: 'model.layers', value: [] },
  { field: 'model.layers', value: undefined },
  { field: 'model.layers[1]', value: 3 },
  { field: 'model.cutPoints', value: 3 },
  { field: 'model.cutPoints[0]', value: 4 },
  { field: 'options.policy', value: 'random' },
  { field: 'options.force', value: 'yes' },
  { field: 'options.plainRam', value: 'maybe' },
  { field: 'options.kvType', value: 'q4_0' },
  { field: 'options.exact', value: 1 },
  { field: 'options.swaFull', value: 'no' },
  { field: 'options.coordinator', value: 'zz' },
  { field: 'options.referenceCommit', value: '' },
  { field: 'options.members[0]', value: 'zz' },
  { field: 'options.members[1]', value: 'a1' },
  { field: 'options.excluded', value: ['zz'], named: 'options.excluded[0]' },
  { field: 'options.links[0].to', value: 'zz' },
  { field: 'options.links[0].to', value: 'a1' },
  { field: 'options.links[0].reachability', value: 'Maybe' },
  { field: 'options.measured[0].address', value: 'zz' },
];

describe('input that means nothing', () => {
  test('the untouched scene is planned', () => {
    expect(plan(...argumentsOf(scene)).pipelines).toHaveLength(1);
  });

  test.each(badNumbers)('$field refuses a number that is $kind', ({ field, kind }) => {
    const value = kind === 'zero' ? 0 : kind === 'missing' ? undefined : bad[kind];
    expect(refusalOf(changed(scene, field, value)).field).toBe(field);
  });

  test.each(divisors)('%s refuses next to nothing', (field) => {
    expect(refusalOf(changed(scene, field, 1e-300)).field).toBe(field);
  });

  test.each(badChoices)('$field refuses $value', ({ field, value, named }) => {
    expect(refusalOf(changed(scene, field, value)).field).toBe(named ?? field);
  });

  test('the message is one line that names the field and the value', () => {
    expect(refusalOf(changed(scene, 'members[1].memoryBytes', -3)).message).toBe(
      'members[1].memoryBytes must be more than 0, not -3',
    );
  });

  test('sums that no longer are exact are refused', () => {
    const huge = { ...model, layers: model.layers.map((layer) => ({ ...layer, weightBytes: 2 ** 52 })) };
    expect(refusalOf({ ...scene, model: huge }).field).toBe('model.layers');
  });

  test('a range outside the model has no bytes', () => {
    for (const range of [
      { start: 2, end: 2 },
      { start: 0, end: 5 },
      { start: -1, end: 2 },
      { start: 0.5, end: 2 },
    ]) {
      expect(() => stageBytes(equalLayers(4, 1), range)).toThrow(InvalidInput);
    }
  });
});

describe('the compact form', () => {
  const params = {
    model: { layers: 4, hidden_dim: 8, total_vram_gb: 10 },
    members: [
      { address: 'a1', vram_gb: 8, backend: 'Cuda', llama_commit: 'c1', reachability: 'LocalDirect' },
      { address: 'b2', vram_gb: 8, backend: 'Metal', llama_commit: 'c1', reachability: 'Direct' },
    ],
    user_forced: false,
  };

  test.each([
    { field: 'model', value: undefined },
    { field: 'model.layers', value: 0 },
    { field: 'model.layers', value: 2.5 },
    { field: 'model.layers', value: 1e9 },
    { field: 'model.hidden_dim', value: -1 },
    { field: 'model.total_vram_gb', value: 0 },
    { field: 'model.total_vram_gb', value: Number.NaN },
    { field: 'model.total_vram_gb', value: 1e300 },
    { field: 'model.total_vram_gb', value: '140' },
    { field: 'members', value: {} },
    { field: 'members[1]', value: null },
    { field: 'members[1].address', value: 'a1' },
    { field: 'members[1].address', value: undefined },
    { field: 'members[0].vram_gb', value: 0 },
    { field: 'members[0].vram_gb', value: 1e-300 },
    { field: 'members[0].deviceClass', value: 'tpu' },
    { field: 'members[0].paused', value: 'no' },
    { field: 'links', value: [{ from: 'a1', to: 'zz' }], named: 'links[0].to' },
    { field: 'members[0].vram_gb', value: -8 },
    { field: 'members[0].vram_gb', value: null },
    { field: 'members[0].vram_gb', value: Number.POSITIVE_INFINITY },
    { field: 'members[0].backend', value: 'Abacus' },
    { field: 'members[0].llama_commit', value: 3 },
    { field: 'members[0].reachability', value: 'Maybe' },
    { field: 'user_forced', value: 'no' },
    { field: 'force_single', value: 1 },
    { field: 'policy', value: 'random' },
    { field: 'reference_commit', value: 7 },
    { field: 'head', value: 'zz' },
    { field: 'excluded', value: ['zz'], named: 'excluded[0]' },
    { field: 'replicas', value: 0 },
    { field: 'max_replicas', value: 1.5 },
    { field: 'cluster_members', value: 'a1' },
    { field: 'cluster_members', value: ['a1', 'zz'], named: 'cluster_members[1]' },
    { field: 'cluster_members', value: ['a1', 'a1'], named: 'cluster_members[1]' },
  ])('$field refuses $value', ({ field, value, named }) => {
    const error = thrownBy(() => compactPlan(changed(params, field, value)));
    expect(error).toBeInstanceOf(InvalidInput);
    expect(error instanceof InvalidInput && error.field).toBe(named ?? field);
  });

  test('names a twin even where it is not asked to take part', () => {
    const twins = { ...params, members: [...params.members, params.members[0]], cluster_members: ['b2'] };
    expect(thrownBy(() => compactPlan(twins))).toMatchObject({ field: 'members[2].address' });
  });

  test('takes null for nothing', () => {
    const nothing = {
      user_forced: null,
      force_single: null,
      policy: null,
      head: null,
      links: null,
      cluster_members: null,
    };
    expect(compactPlan({ ...params, ...nothing })).toEqual(compactPlan(params));
  });

  test('answers anything at all with a plan or a typed error', () => {
    const shaped = fc.record(
      {
        model: fc.oneof(
          fc.anything(),
          fc.record({ layers: fc.anything(), hidden_dim: fc.anything(), total_vram_gb: fc.anything() }),
        ),
        members: fc.oneof(
          fc.anything(),
          fc.array(
            fc.record({
              address: fc.anything(),
              vram_gb: fc.anything(),
              backend: fc.anything(),
              llama_commit: fc.anything(),
            }),
          ),
        ),
        policy: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything(), shaped), (input) => {
        const error = thrownBy(() => compactPlan(input));
        expect(error === null || error instanceof InvalidInput).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });
});

type Tree = { [key: string]: unknown } | unknown[];

/** A copy with one field replaced, or removed for undefined. */
function changed<T extends object>(tree: T, path: string, value: unknown): T {
  const copy: Tree & T = structuredClone(tree) as Tree & T;
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '');
  const last = keys.pop() ?? '';
  let at: Record<string, unknown> = copy as Record<string, unknown>;
  for (const key of keys) at = at[key] as Record<string, unknown>;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

function argumentsOf(given: typeof scene): Parameters<typeof plan> {
  return [given.members as Member[], given.model, given.options as NonNullable<Parameters<typeof plan>[2]>];
}

function refusalOf(given: typeof scene): InvalidInput {
  const error = thrownBy(() => plan(...argumentsOf(given)));
  if (!(error instanceof InvalidInput)) throw new Error(`expected a refusal, not ${String(error)}`);
  return error;
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
    return null;
  } catch (error) {
    return error;
  }
}
