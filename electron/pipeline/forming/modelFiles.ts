import type { ModelSummary } from '../../gguf/modelSummary.ts';
import type { ModelShape } from '../../planner/modelShape.ts';

/** A member that has the whole file of a model. */
export interface ModelHolder {
  member: string;
  /** `host:port` of its control plane, the best first. */
  addresses: string[];
  /** One hash for all weights of its file; left out as long as it has not read them. */
  weights?: string | undefined;
}

/** A model by its header, wherever its file lies. Plain data; nothing stays open. */
export interface OpenedModel {
  /** Content id, see modelFingerprint. */
  readonly id: string;
  readonly summary: ModelSummary;
  readonly shape: ModelShape;
  /** At least one; this member where it has the file itself. */
  readonly holders: readonly ModelHolder[];
  /** Writes its metadata alone to `path`, for loading the tokenizer: a GGUF without tensors. Whole or not there. */
  writeVocabulary(path: string, options: { signal?: AbortSignal }): Promise<void>;
}

/** What serving needs of the files of models, on this member and on others; no path of a file ever passes through it. */
export interface ModelFiles {
  /**
   * The content id of the model on this member's own disk that is called so: by its content id, the beginning of one, or a
   * name as `roomful models` lists it. Null where there is none; throws one plain line where several are called so.
   */
  find(called: string): Promise<string | null>;
  /** The same, but only of a model whose files are as they were, and one hash for all of its weights where that is known. */
  holds(called: string): Promise<{ model: string; weights?: string | undefined } | null>;
  /** Takes a file (any shard) of this member's disk into its library, where it is not there yet; answers the content id. */
  importFile(path: string, signal?: AbortSignal): Promise<string>;
  /**
   * Opens a model by its content id: from this member's own disk, else by asking the holders for its header. Rejects with
   * one plain line where nobody has it any more.
   */
  open(id: string, holders: readonly ModelHolder[], signal?: AbortSignal): Promise<OpenedModel>;
}
