import type {
  LibraryDownload,
  LibraryState,
  PoolMemberDetail,
  PoolState,
  ServingPipeline,
} from '../../gateway/memberApi.ts';
import { member, memberState, poolState } from '../../gateway/testing/memberFixtures.ts';
import type { MemberSnapshot } from '../memberSnapshot.ts';

export const gateway = 'http://127.0.0.1:4141';
export const pool = { id: 'a'.repeat(52), name: 'The room' };

export interface Parts {
  pool?: { id: string; name: string } | null;
  members?: PoolMemberDetail[];
  pipelines?: ServingPipeline[];
  downloads?: LibraryDownload[];
  invites?: PoolState['invites'];
  removed?: PoolState['removed'];
}

/** What the member `desk` shows; in no pool and serving nothing where nothing else is said. */
export function snapshot({ pool: place = null, members, pipelines = [], ...parts }: Parts = {}): MemberSnapshot {
  const { downloads = [], invites = [], removed = null } = parts;
  const library: LibraryState = { models: [], elsewhere: [], folders: [], skipped: [], hasDemoModel: false, downloads };
  return {
    state: memberState(...pipelines),
    pool: { ...poolState(members ?? [member('desk')], place, pipelines), invites, removed },
    library,
  };
}
