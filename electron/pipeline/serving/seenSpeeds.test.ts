import { expect, test } from 'vitest';
import type { PipelineFigures } from '../numbers/pipelineReport.ts';
import type { MemberFacts } from '../placement/servingRoom.ts';
import { seenSpeeds } from './seenSpeeds.ts';

const way = { ms: null, bytes: 0 };
const figures = (...lone: (number | null)[]): PipelineFigures => ({
  stages: lone.map((loneMs) => ({ computeMs: 9, queueMs: 1, loneMs })),
  ...{ hops: [], entry: way, exit: way, stepMs: 0, networkMs: 0, running: 0, queued: 0, steps: 0, requests: 0 },
  ...{ promptTokens: 0, cachedTokens: 0, generatedTokens: 0, draftedTokens: 0, acceptedTokens: 0, tokensPerSecond: 0 },
});
const stage = (member: string, profile: { profileBandwidth?: number; profileMs?: number }) => ({
  ...{ member, name: member, address: `${member}:1`, startLayer: 0, endLayer: 4, bytes: 1, kvBytes: 0, weightBytes: 1 },
  ...profile,
});
const facts = (changes: Partial<MemberFacts> = {}): MemberFacts => {
  return { backend: 'Cpu', memoryBytes: 8e9, bandwidth: 20e9, ...changes };
};
const room = [
  { id: 'ada', facts: facts() },
  { id: 'bob', facts: facts({ bandwidth: 10e9 }) },
];
const profile = { profileBandwidth: 20e9, profileMs: 8 };
const two = [stage('ada', profile), stage('bob', { profileBandwidth: 10e9, profileMs: 4 })];

test('each stage tells what it took beside what its profile said', () => {
  expect(seenSpeeds({ model: 'm', stages: two, figures: figures(10, 3) }, room)).toEqual([
    { model: 'm', member: 'ada', backend: 'Cpu', bandwidth: 20e9, profileMs: 8, measuredMs: 10 },
    { model: 'm', member: 'bob', backend: 'Cpu', bandwidth: 10e9, profileMs: 4, measuredMs: 3 },
  ]);
});

test('nothing is learnt of what has not run alone, had no profile or has another one now, and of who is paused or unknown', () => {
  const seen = (changes: { lone?: number | null; now?: MemberFacts | null; plan?: typeof profile | object }) =>
    seenSpeeds(
      { model: 'm', stages: [stage('ada', changes.plan ?? profile)], figures: figures(changes.lone ?? null) },
      [{ id: 'ada', facts: changes.now === undefined ? facts() : changes.now }],
    );
  expect(seen({ lone: 10 })).toHaveLength(1);
  expect(seen({ lone: null })).toEqual([]);
  expect(seen({ lone: 10, plan: {} })).toEqual([]);
  const others = [
    null,
    facts({ bandwidth: 30e9 }),
    { backend: 'Cpu' as const, memoryBytes: 8e9 },
    facts({ paused: true }),
  ];
  for (const now of others) expect(seen({ lone: 10, now })).toEqual([]);
  expect(seenSpeeds({ model: 'm', stages: two, figures: null }, room)).toEqual([]);
  expect(seenSpeeds({ model: '', stages: two, figures: figures(10, 3) }, room)).toEqual([]);
  expect(seenSpeeds({ model: 'm', stages: two, figures: figures(10, 3) }, [])).toEqual([]);
});
