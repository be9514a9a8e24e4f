import type { PipelineNumbers } from '../numbers/pipelineNumbers.ts';

const LONGEST_S = 60;

/**
 * Whole seconds, 1 to 60, after which whoever found the queue full may ask again: until those that wait have a slot, if
 * their answers take as many steps as those so far, each as long as steps lately. 1 as long as nothing was answered.
 */
export function retryAfter({
  queued,
  slots,
  requests,
  generatedTokens,
  acceptedTokens,
  stepMs,
}: Pick<PipelineNumbers, 'queued' | 'slots' | 'requests' | 'generatedTokens' | 'acceptedTokens' | 'stepMs'>): number {
  // A draft that was accepted took no step of its own.
  const stepsPerRequest = requests === 0 ? 0 : (generatedTokens - acceptedTokens) / requests;
  const seconds = (queued / Math.max(1, slots)) * stepsPerRequest * (stepMs / 1000);
  return Number.isFinite(seconds) ? Math.min(LONGEST_S, Math.max(1, Math.ceil(seconds))) : 1;
}
