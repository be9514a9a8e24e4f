import type { ModelSource } from '../../gguf/openModel.ts';

/** A model whose files lie on this member's disk, whole. */
export interface HeldModel {
  source: ModelSource;
  /**
   * The SHA-256 in hex of each tensor as it was when the file was imported, by name; empty as long as nobody has read
   * it. What lies on the disk now may have been damaged since.
   */
  hashes: ReadonlyMap<string, string>;
}

/** The whole models of this member. */
export interface HeldModels {
  /** By content id; undefined where this member does not hold it, or its file has changed. */
  find(model: string): Promise<HeldModel | undefined>;
}
