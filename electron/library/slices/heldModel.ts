import type { ModelSource } from '../../gguf/openModel.ts';
import type { CheckOptions } from './damagedTensors.ts';

/** A model whose files lie on this member's disk, whole. */
export interface HeldModel {
  source: ModelSource;
  /**
   * The SHA-256 in hex of each tensor as it was when the file was imported, by name; empty as long as nobody has read
   * it. What lies on the disk now may have been damaged since.
   */
  hashes: ReadonlyMap<string, string>;
  /** One hash for all of them; left out where they are not known. */
  weights?: string | undefined;
}

/** Tensors of a model where they lie on this member's disk, whether the model is whole here or not. */
export interface HeldFiles {
  /** By name. */
  tensors: ReadonlyMap<string, { file: number; offset: number; byteLength: number }>;
  files: readonly { path: string; bytes: number; changedAt: number }[];
}

/** Of a model what this member has received for its stages, each tensor checked then. */
export interface HeldParts {
  files: HeldFiles;
  /** As HeldModel has them. */
  hashes: ReadonlyMap<string, string>;
}

/** The whole models of this member. */
export interface HeldModels {
  /** By content id; undefined where this member does not hold it, or its file has changed. */
  find(model: string): Promise<HeldModel | undefined>;
  /**
   * Reads a model that `find` has found from end to end, unless that was done lately, and holds it against what it was. Rejects
   * with StageFileDamaged where it is not that; from then on `find` finds it no more.
   */
  check(model: string, options: CheckOptions): Promise<void>;
  /** A model that is damaged, as far as it can still give tensors, each to be held against its hash. */
  remains(model: string): Promise<HeldModel | undefined>;
}
