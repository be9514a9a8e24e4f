import type { PoolMemberDetail, ServingPipeline, ServingStage } from '../../electron/gateway/memberApi.ts';

export interface MemberState {
  text: string;
  tone: 'good' | 'warn' | 'problem' | 'quiet';
  /** Why, and what to do about it; null where there is nothing to say. */
  reason: string | null;
}

const pauses: Record<string, string> = {
  owner: 'its owner paused it',
  battery: 'it runs on its battery',
  heat: 'it is hot',
  gpu: 'its graphics card is wanted by another program',
};

/** How a member is, in words. What keeps it out comes before what pauses it. */
export function stateOf({ state, reject, paused, self }: PoolMemberDetail): MemberState {
  if (state === 'lost') {
    return { text: 'lost', tone: 'problem', reason: 'It has not been heard of. Wake it, or look at its network.' };
  }
  if (state === 'suspect') return { text: 'silent', tone: 'warn', reason: 'Nothing was heard of it for a moment.' };
  if (state === 'left') return { text: 'left', tone: 'quiet', reason: null };
  if (reject?.kind === 'BuildMismatch') {
    const reason = `It runs llama.cpp ${reject.found.slice(0, 10)}, the pool runs ${reject.expected.slice(0, 10)}. Update Roomful there.`;
    return { text: 'left out', tone: 'problem', reason };
  }
  if (reject?.kind === 'WireMismatch') {
    const reason = `It speaks version ${reject.found} of Roomful's protocol, the pool version ${reject.expected}. Update the older one.`;
    return { text: 'left out', tone: 'problem', reason };
  }
  if (paused.length > 0) {
    const why = paused.map((each) => (self && each === 'owner' ? 'you paused it' : (pauses[each] ?? each)));
    return { text: 'paused', tone: 'warn', reason: `It shares nothing now: ${why.join(' and ')}.` };
  }
  return { text: 'ready', tone: 'good', reason: null };
}

/** Whom this machine should make an admin, as long as it is the only one; null where there is no need, or nobody there. */
export function secondAdmin(members: readonly PoolMemberDetail[]): PoolMemberDetail | null {
  const [admin, another] = members.filter((member) => member.admin);
  if (admin?.self !== true || another !== undefined) return null;
  return members.find(({ self, state }) => !self && state === 'alive') ?? null;
}

/** What models take of a member's memory, in bytes. */
export interface ServedBytes {
  weights: number;
  kv: number;
  /** What computing itself needs. */
  buffers: number;
}

/** Bytes that models take on a member, of what is planned; those of the pipeline `but` are left out. */
export function servedBytes(member: string, pipelines: readonly ServingPipeline[], but?: string): ServedBytes {
  const stages = pipelines
    .filter(({ id, state }) => state !== 'stopped' && state !== 'failed' && id !== but)
    .flatMap(({ placement }) => placement)
    .filter(({ id }) => id === member);
  const sum = (of: (stage: ServingStage) => number) => stages.reduce((total, stage) => total + of(stage), 0);
  const [kv, weights] = [sum(({ kvBytes }) => kvBytes), sum(({ weightBytes }) => weightBytes)];
  return { weights, kv, buffers: sum(({ bytes }) => bytes) - weights - kv };
}

/** The devices that share, for people: `RTX 4090 · CUDA`. */
export function deviceLine({ devices }: PoolMemberDetail): string {
  const sharing = devices.filter(({ shares }) => shares);
  const shown = sharing.length > 0 ? sharing : devices.slice(0, 1);
  return shown.map(({ description, name, backend }) => `${description || name} · ${backend}`).join(', ');
}
