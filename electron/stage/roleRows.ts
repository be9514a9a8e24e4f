import type { StageRole } from './nativeAddon.ts';

/** Whether a stage of this role computes from rows of activations rather than from tokens. */
export function takesRows(role: StageRole): boolean {
  return role === 'middle' || role === 'last';
}

/** Whether it gives rows of activations rather than tokens. */
export function givesRows(role: StageRole): boolean {
  return role === 'first' || role === 'middle';
}
