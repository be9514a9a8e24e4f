/** Why a member pauses by itself: it runs on its battery, is hot, or its graphics card is wanted by its owner. */
export type Manner = 'battery' | 'heat' | 'gpu';

export const manners: readonly Manner[] = ['battery', 'heat', 'gpu'];

/** What the machine's sensors say at one moment; null where they do not. */
export interface Readings {
  onBattery: boolean | null;
  cpuCelsius: number | null;
  /** Of the hottest card that shares. */
  gpuCelsius: number | null;
  /**
   * The part of the time in which a card that shares computed for other programs, 0 to 1; `unclear` where the driver
   * cannot tell their work from this member's.
   */
  gpuWanted: number | 'unclear' | null;
}
