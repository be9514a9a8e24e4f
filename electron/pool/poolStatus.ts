import type { Liveness, MemberPresence } from './membershipView.ts';
import type { MemberCard } from './presenceRecord.ts';
import type { MeasuredLink } from './profile/peerLinks.ts';
import type { DeviceFacts, PauseReason, Profile } from './profile/profile.ts';
import type { RosterMember } from './trust/poolTrust.ts';

/** Why a member takes no part in what the others serve together. */
export type MemberReject =
  | { kind: 'BuildMismatch'; expected: string; found: string }
  | { kind: 'WireMismatch'; expected: number; found: number };

/** A member as people and programs are shown it. */
export interface MemberStatus {
  id: string;
  name: string;
  state: Liveness;
  self: boolean;
  admin: boolean;
  /** `host:port` of its control plane; null where none is known. */
  address: string | null;
  shareBytes: number;
  devices: DeviceFacts[];
  /** Commit of llama.cpp; null before it was heard of. */
  build: string | null;
  reject: MemberReject | null;
  /** Whether it leads the pool. */
  leads: boolean;
  /** Whether its owner wants it to lead. */
  pinned: boolean;
  /** Why it shares nothing now; empty while it shares. */
  paused: PauseReason[];
  /** How far away it is; null of this member, and before it is measured. */
  link: MeasuredLink | null;
}

export interface StatusSources {
  /** Empty in no pool. */
  roster: readonly RosterMember[];
  self: {
    id: string;
    name: string;
    card: Pick<MemberCard, 'build' | 'wireVersion' | 'shareBytes' | 'pinned'>;
    address: string | null;
  };
  presences: readonly MemberPresence[];
  coordinator: string | null;
  addressOf: (id: string) => string | null;
  profileOf: (id: string) => Profile | null;
  linkTo: (id: string) => MeasuredLink | null;
}

/** Everyone of the roster with what is known of them, this member first, then by name. Pure. */
export function memberStatuses(sources: StatusSources): MemberStatus[] {
  const { roster, self, presences, coordinator, addressOf, profileOf, linkTo } = sources;
  const presenceOf = new Map(presences.map((presence) => [presence.id, presence]));
  const reference = presenceOf.get(coordinator ?? '')?.card ?? self.card;
  const own: MemberStatus = {
    id: self.id,
    name: self.name,
    state: 'alive',
    self: true,
    admin: roster.some(({ id, admin }) => admin && id === self.id),
    leads: self.id === coordinator,
    pinned: self.card.pinned,
    address: self.address,
    shareBytes: self.card.shareBytes,
    ...machineOf(profileOf(self.id)),
    build: self.card.build,
    reject: rejectOf(self.card, reference),
    link: null,
  };
  const others = roster
    .filter(({ id }) => id !== self.id)
    .map(({ id, name, admin }): MemberStatus => {
      const presence = presenceOf.get(id);
      const card = presence?.card ?? null;
      return {
        id,
        name: card?.name ?? name,
        state: presence?.state ?? 'lost',
        self: false,
        admin,
        leads: id === coordinator,
        pinned: card?.pinned ?? false,
        address: addressOf(id),
        shareBytes: card?.shareBytes ?? 0,
        ...machineOf(profileOf(id)),
        link: linkTo(id),
        build: card?.build ?? null,
        reject: card === null ? null : rejectOf(card, reference),
      };
    });
  others.sort((one, other) =>
    one.name === other.name ? (one.id < other.id ? -1 : 1) : one.name < other.name ? -1 : 1,
  );
  return [own, ...others];
}

function machineOf(profile: Profile | null): Pick<MemberStatus, 'devices' | 'paused'> {
  return { devices: profile?.devices ?? [], paused: profile?.paused ?? [] };
}

/** Members of another build serve alone; `reference` is that of the member that leads. */
function rejectOf(
  card: Pick<MemberCard, 'build' | 'wireVersion'>,
  reference: Pick<MemberCard, 'build' | 'wireVersion'>,
): MemberReject | null {
  if (card.wireVersion !== reference.wireVersion) {
    return { kind: 'WireMismatch', expected: reference.wireVersion, found: card.wireVersion };
  }
  return card.build === reference.build
    ? null
    : { kind: 'BuildMismatch', expected: reference.build, found: card.build };
}
