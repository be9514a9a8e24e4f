const mask = 2n ** 64n - 1n;

function splitMix64(state: bigint): bigint {
  let z = (state + 0x9e3779b97f4a7c15n) & mask;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
  return z ^ (z >> 31n);
}

/** The uniform number of native/src/counterRandom.h, written down a second time from its documentation. */
export function uniformAt(seed: bigint, choice: number, position: number): number {
  const bits = splitMix64(splitMix64(splitMix64(seed) ^ BigInt(choice)) ^ BigInt(position));
  return Number(bits >> 11n) / 2 ** 53;
}

/** The draw of native/src/sequenceSampler.h from probabilities at temperature 1, most probable first. */
export function documentedDraw(
  probabilities: readonly (readonly [token: number, probability: number])[],
  { temperature, topP }: { temperature: number; topP: number },
  uniform: number,
): number {
  const sorted = [...probabilities].sort(([a, p], [b, q]) => q - p || a - b);
  const nucleus: typeof sorted = [];
  let reached = 0;
  for (const entry of sorted) {
    if (nucleus.length > 0 && reached >= topP) break;
    nucleus.push(entry);
    reached += entry[1];
  }
  // Without a nucleus the tokens stay in the order of their ids.
  if (topP === 1) nucleus.sort(([a], [b]) => a - b);
  const weights = nucleus.map(([, probability]) => probability ** (1 / temperature));
  let left = uniform * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [index, [token]] of nucleus.entries()) {
    left -= weights[index] ?? 0;
    if (left < 0) return token;
  }
  return nucleus[0]?.[0] ?? -1;
}
