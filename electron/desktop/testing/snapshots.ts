import type {
  LibraryDownload,
  LibraryState,
  MemberState,
  PoolMemberDetail,
  PoolState,
  ServingPipeline,
} from '../../gateway/memberApi.ts';
import type { MemberSnapshot } from '../memberSnapshot.ts';

export const gateway = 'http://127.0.0.1:4141';
export const pool = { id: 'a'.repeat(52), name: 'The room' };

/** A member that lives; `desk` is this machine. */
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

/** `demo`, which serves on this machine and the attic's. */
export function pipeline(changes: Partial<ServingPipeline> = {}): ServingPipeline {
  return {
    id: 'p',
    modelId: 'demo',
    aliases: [],
    state: 'serving',
    fraction: 0,
    reason: null,
    driver: { id: 'desk', name: 'desk' },
    contextLength: 4096,
    placement: [
      { member: 'desk', startLayer: 0, endLayer: 2, bytes: 2, kvBytes: 0 },
      { member: 'attic', startLayer: 2, endLayer: 3, bytes: 1, kvBytes: 0 },
    ],
    hops: 1,
    lastTokensPerSecond: null,
    figures: null,
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

export interface Parts {
  pool?: { id: string; name: string } | null;
  members?: PoolMemberDetail[];
  pipelines?: ServingPipeline[];
  downloads?: LibraryDownload[];
}

/** What the member `desk` shows; in no pool and serving nothing where nothing else is said. */
export function snapshot({ pool: place = null, members, pipelines = [], downloads = [] }: Parts = {}): MemberSnapshot {
  const self = { id: 'desk', name: 'desk' };
  const all = members ?? [member('desk')];
  const state: MemberState = { self, pipelines, endpoint: `${gateway}/v1` };
  const poolState: PoolState = {
    status: { self, pool: place, coordinator: null, epoch: null, members: all, pipelines },
    members: all,
    invites: [],
  };
  const library: LibraryState = { models: [], folders: [], skipped: [], downloads };
  return { state, pool: poolState, library };
}
