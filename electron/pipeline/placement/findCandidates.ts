import { backendOrCpu } from '../../planner/backend.ts';
import { MemberClient } from '../../wire/memberClient.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { PipelineError } from '../pipelineError.ts';
import type { MemberPlace } from '../serving/serveEvents.ts';
import type { Candidate } from './placePipelines.ts';
import type { RoomMember, ServingRoom } from './servingRoom.ts';

/** Who may take part. */
export interface Wanted {
  /** Names, ids or addresses, in the order of the stages; null for everyone who lives. */
  members: readonly string[] | null;
  /** In place of `members`, in any order. */
  places: readonly MemberPlace[] | null;
}

/** What a member says of itself. */
export type FoundCandidate = Omit<Candidate, 'takenBytes' | 'stageExtraBytes' | 'stageSpeed' | 'mostBytes'>;

export interface FoundCandidates {
  candidates: FoundCandidate[];
  /** Whether they are in the order that the stages are to have. */
  ordered: boolean;
  /** Who was left out, one plain line each. */
  notes: string[];
}

interface Place {
  id: string;
  address: string;
  known: RoomMember | null;
}

/**
 * The members that a model may be planned over, each asked whether it is really there. One that does not answer is left out
 * where nobody named it; where somebody did this rejects with a line that names it.
 */
export async function findCandidates(
  room: ServingRoom,
  { members, places }: Wanted,
  options: { tls: TlsMaterial; wireVersion: number; build: string; signal: AbortSignal },
): Promise<FoundCandidates> {
  const named = members !== null || places !== null;
  if (places === null) await profilesTold(room, options.signal);
  const wanted = await wantedPlaces(room, { members, places });
  options.signal.throwIfAborted();
  const asked = await Promise.allSettled(wanted.map((place) => askMember(place, options)));
  options.signal.throwIfAborted();
  const notes: string[] = [];
  const candidates = asked.flatMap((answer, index) => {
    if (answer.status === 'fulfilled') return [answer.value];
    const place = wanted[index];
    const name = place?.known?.name ?? place?.address;
    if (named) throw new PipelineError('FormFailed', `${name}: ${messageOf(answer.reason)}`, { cause: answer.reason });
    notes.push(`${name} did not answer and is left out: ${messageOf(answer.reason)}`);
    return [];
  });
  return { candidates, ordered: members !== null, notes };
}

/** How long a plan waits for what members that have only now been met say of their machines, ms. */
const PATIENCE_MS = 3000;

/** Resolves when everybody who lives has told of its machine, or after a while; with the signal too. */
function profilesTold(room: ServingRoom, signal: AbortSignal): Promise<void> {
  const isTold = ({ self, state, facts }: RoomMember): boolean =>
    self || (state !== 'alive' && state !== 'suspect') || facts !== null;
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', settle);
      end();
      resolve();
    };
    const look = (): void => {
      if (signal.aborted || room.members().every(isTold)) settle();
    };
    const timer = setTimeout(settle, PATIENCE_MS);
    const end = room.onChange(look);
    signal.addEventListener('abort', settle, { once: true });
    look();
  });
}

async function wantedPlaces(room: ServingRoom, { members, places }: Wanted): Promise<Place[]> {
  const known = room.members();
  const byId = (id: string): RoomMember | null => known.find((member) => member.id === id) ?? null;
  if (places !== null) return places.map(({ address, id }) => ({ id, address, known: byId(id) }));
  if (members === null) {
    return known.flatMap((member) => {
      const { id, state, address } = member;
      return address !== null && (state === 'alive' || state === 'suspect') ? [{ id, address, known: member }] : [];
    });
  }
  const found = await Promise.all(members.map((called) => placeOf(room, known, called)));
  const twice = found.find(({ id }, index) => found.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) throw new PipelineError('FormFailed', `${twice.known?.name ?? twice.id} is named twice.`);
  return found;
}

const LEAST_PREFIX = 4;

async function placeOf(room: ServingRoom, known: readonly RoomMember[], called: string): Promise<Place> {
  const matching = [
    known.filter(({ id, address }) => id === called || address === called),
    known.filter(({ name }) => name === called),
    known.filter(({ id }) => called.length >= LEAST_PREFIX && id.startsWith(called)),
  ].find((some) => some.length > 0);
  const [one, other] = matching ?? [];
  if (other !== undefined) {
    throw new PipelineError('FormFailed', `Several members are called ${called}. Give the id instead.`);
  }
  if (one !== undefined) {
    if (one.address !== null) return { id: one.id, address: one.address, known: one };
    throw new PipelineError('FormFailed', `${one.name} is not there; nobody knows its address.`);
  }
  if (!/:\d+$/.test(called)) {
    throw new PipelineError('FormFailed', `No member of the pool is called ${called}. \`roomful members\` lists them.`);
  }
  const id = await room.memberAt(called);
  return { id, address: called, known: known.find((member) => member.id === id) ?? null };
}

async function askMember(
  { id, address, known }: Place,
  { tls, wireVersion, build }: { tls: TlsMaterial; wireVersion: number; build: string },
): Promise<FoundCandidate> {
  const client = new MemberClient({ address, member: id, tls });
  try {
    const hello = await client.hello({ wireVersion, build });
    const told = { backend: backendOrCpu(hello.backend), memoryBytes: hello.shareBytes };
    return {
      id,
      address,
      name: hello.name,
      build: hello.wireVersion === wireVersion ? hello.build : `wire version ${hello.wireVersion}`,
      facts: known?.facts ?? told,
      stale: known?.state === 'suspect',
      link: known?.link ?? null,
      ways: known?.ways ?? [],
    };
  } finally {
    client.close();
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
