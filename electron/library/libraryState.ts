import type { Fit } from '../planner/explain/fitOf.ts';

/** What windows and commands see of the library. Plain data; sizes in bytes, times in milliseconds since 1970. */
export interface LibraryState {
  /** By name. */
  models: LibraryModel[];
  /** What other members have and this one has not, or not as it was; by name. */
  elsewhere: PoolModel[];
  /** Folders that are watched for models; the first is in the data folder and holds downloads too. */
  folders: WatchedFolder[];
  /** Files in watched folders that are no models, and why. */
  skipped: { path: string; problem: string }[];
  /** Whether a small model came with Roomful that can be tried without a network, see `takeDemoModel`. */
  hasDemoModel: boolean;
  /** Newest first. One that has stopped goes on where it was when it is asked for again. */
  downloads: LibraryDownload[];
}

export interface WatchedFolder {
  path: string;
  /** Why it cannot be looked into; null where it can. */
  problem: string | null;
}

/** A model on this machine's disk. */
export interface LibraryModel {
  /** Content id. */
  id: string;
  /** What clients call it, see modelId. */
  name: string;
  /** As its file says. */
  title: string;
  architecture: string;
  parameters: number;
  quantisation: string;
  layers: number;
  /** Trained context in tokens, null where the file does not say. */
  contextLength: number | null;
  hasChatTemplate: boolean;
  /** It turns texts into vectors and writes none. */
  embedsOnly: boolean;
  licence: string | null;
  bytes: number;
  /** In the order of the set. */
  files: string[];
  origin: ModelOrigin;
  /** The reference it was downloaded by. */
  from: string | null;
  addedAt: number;
  state: ModelState;
  /** One plain line where it is not ready. */
  problem: string | null;
  /** Whether the hashes of its tensors are known. */
  hashed: boolean;
  /** One hash for all of its weights, null before they have been read whole. */
  weights: string | null;
  /** How far hashing is, 0 to 1; null while it does not run. */
  hashing: number | null;
  /** The same of a verification that was asked for. */
  verifying: number | null;
  /** What the last verification since the start found. */
  verified: Verification | null;
}

/** A model that lies on the disks of other members. */
export interface PoolModel
  extends Pick<
    LibraryModel,
    'id' | 'name' | 'title' | 'parameters' | 'quantisation' | 'layers' | 'bytes' | 'embedsOnly'
  > {
  /** Names of the members that have it, by name. */
  holders: string[];
}

export interface Verification {
  at: number;
  /** Whether there was something to compare with: hashes of the import, or those that the hub publishes. */
  compared: boolean;
  /** Names of tensors, and paths of files, that are not what they were; empty where all is well. */
  damaged: string[];
  /** Why it did not come to an end; null where it did. */
  problem: string | null;
}

/**
 * Named by someone, found in a watched folder, fetched by the library itself, or dropped on a window that copied it into the
 * library's own folder.
 */
export type ModelOrigin = 'imported' | 'folder' | 'downloaded' | 'dropped';

/** `gone`: a file is not where it was. `changed`: it is another one. `damaged`: its bytes are not what they were. */
export type ModelState = 'ready' | 'gone' | 'changed' | 'damaged';

export interface LibraryDownload {
  /** Of this download, not of the model. */
  id: string;
  /** As it was asked for. */
  reference: string;
  state: 'resolving' | 'running' | 'checking' | 'done' | 'stopped' | 'failed';
  /** Null before the hub has said. */
  totalBytes: number | null;
  bytes: number;
  bytesPerSecond: number;
  secondsLeft: number | null;
  /** One plain line where it has failed. */
  problem: string | null;
  /** Content id, once it is in the library. */
  model: string | null;
}

/** A model worth a try, as resources/models.json describes it, and how it would fit this pool. */
export interface CatalogueModel {
  name: string;
  /** What to pull. */
  reference: string;
  about: string;
  licence: string;
  /** About what the download takes. */
  bytes: number;
  parameters: number;
  contextLength: number;
  /** In this pool now; see the planner's `Fit`. */
  fit: Fit;
  /** Trips of activations between members per token; null where it does not fit. */
  hops: number | null;
  /** Predicted, of one request alone; null where it does not fit. */
  tokensPerSecond: number | null;
  /** Memory that is missing; null where it fits. */
  missingBytes: number | null;
}

/** What checking a stage's files has found. */
export interface StageCheck {
  model: string;
  startLayer: number;
  endLayer: number;
  /** Names of tensors, in the whole model; 'header' for what is no tensor. */
  damaged: string[];
  /** Whether they were fetched again. */
  repaired: boolean;
}

/** What the owner of a machine lets models take of it. */
export interface LibrarySettings {
  /** Most bytes of all received parts of models together; null for a fifth of the disk. */
  diskBytes: number | null;
  /** Most bytes per second of models, given to others and, counted apart, taken from them; null for no limit. */
  bytesPerSecond: number | null;
  /** Of the time, what giving models may take while a stage computes here. */
  loadedShare: number;
}
