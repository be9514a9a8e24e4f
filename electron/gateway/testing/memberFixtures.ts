import type {
  LibraryDownload,
  LibraryModel,
  MemberState,
  PoolMemberDetail,
  PoolState,
  ServingFigures,
  ServingPipeline,
  ServingStage,
} from '../memberApi.ts';

/** What windows are shown, in parts that tests change and put together. `desk` is this machine, `attic` the other one. */

/** A member that lives; its name is its id. */
export function member(name: string, changes: Partial<PoolMemberDetail> = {}): PoolMemberDetail {
  return {
    id: name,
    name,
    state: 'alive',
    self: name === 'desk',
    address: null,
    shareBytes: 1,
    devices: [],
    build: null,
    reject: null,
    admin: false,
    leads: false,
    pinned: false,
    paused: [],
    link: null,
    ...changes,
  };
}

/** Layers [startLayer, endLayer) of a member whose name is its id. */
export function servingStage(
  name: string,
  startLayer: number,
  endLayer: number,
  bytes: number,
  kvBytes = 0,
  weightBytes = bytes - kvBytes,
): ServingStage {
  return { id: name, member: name, startLayer, endLayer, bytes, kvBytes, weightBytes };
}

/** `demo`, which serves on both. */
export function pipeline(changes: Partial<ServingPipeline> = {}): ServingPipeline {
  return {
    id: 'p',
    contentId: '',
    modelId: 'demo',
    aliases: [],
    embedsOnly: false,
    state: 'serving',
    fraction: 0,
    reason: null,
    driver: { id: 'desk', name: 'desk' },
    contextLength: 4096,
    placement: [servingStage('desk', 0, 2, 2), servingStage('attic', 2, 3, 1)],
    hops: 1,
    lastTokensPerSecond: null,
    figures: null,
    ...changes,
  };
}

/** Of `pipeline`. */
export function figures(changes: Partial<ServingFigures> = {}): ServingFigures {
  return {
    stages: [
      { member: 'desk', predictedMs: 1.1, measuredMs: 1.3, queueMs: 0.4 },
      { member: 'attic', predictedMs: 0.9, measuredMs: null, queueMs: 0 },
    ],
    hops: [{ from: 'desk', to: 'attic', predictedMs: 0.5, measuredMs: 0.42, bytes: 2_000_000 }],
    entry: { predictedMs: 0, measuredMs: null, bytes: 0 },
    exit: { predictedMs: 0.5, measuredMs: 0.4, bytes: 0 },
    stepMs: 3,
    networkMs: 1,
    running: 4,
    queue: 0,
    acceptance: 0.75,
    tokensIn: 10,
    tokensCached: 0,
    tokensOut: 20,
    predictedTokensPerSecond: { one: 52.5, many: 130 },
    tokensPerSecond: 40,
    ...changes,
  };
}

export function download(changes: Partial<LibraryDownload> = {}): LibraryDownload {
  return {
    id: 'd',
    reference: 'hf:someone/model',
    state: 'running',
    totalBytes: 10,
    bytes: 1,
    bytesPerSecond: 1,
    secondsLeft: 9,
    problem: null,
    model: null,
    ...changes,
  };
}

/** A model on the disk, ready; its name is its id. */
export function libraryModel(name: string, changes: Partial<LibraryModel> = {}): LibraryModel {
  return {
    id: name,
    name,
    title: name,
    architecture: 'llama',
    parameters: 8.03e9,
    quantisation: 'Q4_K_M',
    layers: 32,
    contextLength: 131_072,
    hasChatTemplate: true,
    embedsOnly: false,
    weights: null,
    licence: null,
    bytes: 4.9e9,
    files: [`/models/${name}.gguf`],
    origin: 'imported',
    from: null,
    addedAt: 1,
    state: 'ready',
    problem: null,
    hashed: true,
    hashing: null,
    verifying: null,
    verified: null,
    ...changes,
  };
}

export function memberState(...pipelines: ServingPipeline[]): MemberState {
  return { self: { id: 'desk', name: 'desk' }, pipelines, endpoint: 'http://127.0.0.1:4141/v1' };
}

/** The pool of these members, or none where `place` is null. */
export function poolState(
  members: PoolMemberDetail[],
  place: { id: string; name: string } | null = { id: 'a'.repeat(52), name: 'The room' },
  pipelines: ServingPipeline[] = [],
): PoolState {
  return {
    status: { self: { id: 'desk', name: 'desk' }, pool: place, coordinator: null, epoch: null, members, pipelines },
    members,
    removed: null,
    invites: [],
  };
}
