import type { EmbeddingTable } from '../../gguf/embeddingTable.ts';
import type { ModelHolder } from './modelFiles.ts';

/** Layers [startLayer, endLayer) of a model, and who has all of it. */
export interface StageFileRequest {
  /** Content id. */
  model: string;
  startLayer: number;
  endLayer: number;
  /** May be none where the files, or the model, lie on this disk. */
  holders: readonly ModelHolder[];
}

/** A file that llama.cpp loads; it stays as it is until `release`. */
export interface StageFileLease {
  readonly file: {
    path: string;
    role: 'whole' | 'first' | 'middle' | 'last' | 'embedder';
    layers: number;
    embedding: EmbeddingTable | null;
    /** Path of the tokenizer's GGUF; null on stages that do not sample, and where it lies in the file itself. */
    vocabulary: string | null;
  };
  /** It may be removed from now on; once is enough. */
  release(): Promise<void>;
  /**
   * Reads all of it, unless that was done lately, and holds it against what it should be; to be done while it loads, and nothing
   * may be computed with it before. Rejects with StageFileDamaged that names what is wrong; `provide` then gives a good one,
   * if there is one.
   */
  check(options: { signal: AbortSignal; onProgress?: (done: number, total: number) => void }): Promise<void>;
}

/** A file on this disk is not what it was. One plain line. */
export class StageFileDamaged extends Error {
  override readonly name = 'StageFileDamaged';
}

/** Bytes of tensors: `cutting` while they come from this disk, `fetching` while they come from others. */
export interface StageFileProgress {
  phase: 'cutting' | 'fetching';
  doneBytes: number;
  totalBytes: number;
}

/** Where stages get their files. */
export interface StageFiles {
  /**
   * The file of a stage, from this disk where it is there, else made from what is there and fetched from the holders. Every
   * tensor has been checked. Rejects with one plain line, or the signal's reason; what has come by then is kept.
   */
  provide(
    request: StageFileRequest,
    options: { signal: AbortSignal; onProgress?: (progress: StageFileProgress) => void },
  ): Promise<StageFileLease>;
}
