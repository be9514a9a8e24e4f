/** A range of layers that one member holds, as people and scripts are shown it. */
export interface PlacedStage {
  /** The member's name, as people know it. */
  member: string;
  startLayer: number;
  /** Exclusive. */
  endLayer: number;
  /** Planned: weights, KV and buffers. */
  bytes: number;
  /** Of those, for the KV cache. */
  kvBytes: number;
}
