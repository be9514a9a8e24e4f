import type { Candidate } from '../admit/candidate.ts';
import type { RangeCosts } from '../costs/rangeCosts.ts';

/**
 * Milliseconds in which a member computes layers [start, end) for one step of `sequences` sequences. Decoding waits for
 * memory: every active weight and the KV of every sequence is read once.
 */
export function stageMs(
  candidate: Candidate,
  costs: RangeCosts,
  start: number,
  end: number,
  sequences: number,
): number {
  const read = costs.read(start, end, sequences);
  const hostRead =
    candidate.capacity === candidate.deviceBytes ? 0 : read * spilledFraction(candidate, costs, start, end);
  const readMs = ((read - hostRead) / candidate.speed + hostRead / candidate.hostSpeed) * 1000;
  // A measured time holds the arithmetic of its one sequence already.
  if (candidate.isMeasured && sequences === 1) return readMs;
  const computeMs = ((costs.operations(start, end) * sequences) / candidate.flops) * 1000;
  return Math.max(readMs, computeMs);
}

/** Milliseconds for a chunk of a prompt: the same reads, but arithmetic counts. */
export function chunkMs(candidate: Candidate, costs: RangeCosts, start: number, end: number, tokens: number): number {
  const readMs = stageMs(candidate, costs, start, end, 1);
  return Math.max(readMs, ((costs.operations(start, end) * tokens) / candidate.flops) * 1000);
}

/** Part of a stage's reads that go to plain RAM; experts go there first, and a token reads few of them. */
function spilledFraction(candidate: Candidate, costs: RangeCosts, start: number, end: number): number {
  const bytes = costs.bytes(start, end);
  const spilled = bytes - candidate.deviceBytes;
  if (spilled <= 0) return 0;
  const experts = costs.expertBytes(start, end);
  const read = costs.read(start, end, 1);
  const readOfExperts = Math.min(spilled, experts) * costs.expertFraction;
  const readOfOthers =
    spilled > experts ? ((spilled - experts) / (bytes - experts)) * (read - experts * costs.expertFraction) : 0;
  return Math.min(1, (readOfExperts + readOfOthers) / read);
}
