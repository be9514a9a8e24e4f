import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FuzzSeed, fuzzOnce, fuzzSeeds } from './testing/fuzzModels.ts';
import { temporaryFolder } from './testing/temporaryFolder.ts';

const folder = temporaryFolder();
let seeds: FuzzSeed[];
beforeAll(async () => {
  await folder.make();
  seeds = await fuzzSeeds(folder.at('.'));
});
afterAll(folder.remove);

// The long run is `npm run bench -- fuzz`; a seed that it names can be given here.
it('a file that was changed at random opens, or is refused in one plain line that names it', async () => {
  const outcomes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 - 1 }), async (seed) => {
      const outcome = await fuzzOnce(seeds, seed, folder.at('fuzzed.gguf'));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }),
    { numRuns: 500 },
  );
  // Neither all refused nor all opened: the changes reach past the first checks.
  for (const outcome of ['opened', 'Malformed', 'Truncated']) expect(outcomes.get(outcome), outcome).toBeGreaterThan(5);
});
