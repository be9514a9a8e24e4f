import type { PoolMemberDetail, ServingPipeline } from '../../electron/gateway/memberApi.ts';

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

/** Bytes that models take on a member, of what is planned: weights with their buffers, and KV caches. */
export function servedBytes(name: string, pipelines: readonly ServingPipeline[]): { weights: number; kv: number } {
  const stages = pipelines
    .filter(({ state }) => state !== 'stopped' && state !== 'failed')
    .flatMap(({ placement }) => placement)
    .filter((stage) => stage.member === name);
  const kv = stages.reduce((sum, { kvBytes }) => sum + kvBytes, 0);
  return { weights: stages.reduce((sum, { bytes }) => sum + bytes, 0) - kv, kv };
}

/** The devices that share, for people: `RTX 4090 · CUDA`. */
export function deviceLine({ devices }: PoolMemberDetail): string {
  const sharing = devices.filter(({ shares }) => shares);
  const shown = sharing.length > 0 ? sharing : devices.slice(0, 1);
  return shown.map(({ description, name, backend }) => `${description || name} · ${backend}`).join(', ');
}
