import { isDeepStrictEqual } from 'node:util';
import { compareEpochs } from '../wire/epoch.ts';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { firstInRank, leaderOf } from './election.ts';
import type { Beat, MembershipEffect, MembershipEvent, PresenceNews } from './membershipEvents.ts';
import { type MembershipState, newPeer, type Peer, settleMs } from './membershipState.ts';
import { BEAT_MS, LOST_MS, REDIAL_MAX_MS, REDIAL_MIN_MS, STALL_MS, WAKE_SETTLE_MS } from './membershipTimings.ts';
import { livenessOf, presentRecords, viewOf } from './membershipView.ts';
import { peerAddresses, reachedAddress } from './peerAddresses.ts';
import { compareRecords, type MemberCard, type PresenceRecord } from './presenceRecord.ts';
import { reachableCounter } from './reachableCounter.ts';

/** A copy of the state that one event may change, and what is to be done about it. */
type Draft = { -readonly [K in keyof MembershipState]: MembershipState[K] } & {
  peers: Map<string, Peer>;
  effects: MembershipEffect[];
};

/**
 * The whole life of a membership: what an event makes of the state, and what is to be done. Pure; the state that was
 * given stays as it is. In a connected part of the pool whose members stay, all come to have the same view, with one
 * leader, and no epoch is ever followed by an older one.
 */
export function reduceMembership(
  state: MembershipState,
  event: MembershipEvent,
): { state: MembershipState; effects: MembershipEffect[] } {
  const draft: Draft = { ...state, peers: new Map(state.peers), effects: [] };
  passTime(draft, event);
  take(draft, event);
  followOrLead(draft);
  dialWhoIsDue(draft);
  const { effects, ...next } = draft;
  const view = viewOf(next);
  if (isDeepStrictEqual(view, state.view)) return { state: next, effects };
  return { state: { ...next, view }, effects: [...effects, { type: 'changed', view }] };
}

function take(draft: Draft, event: MembershipEvent): void {
  switch (event.type) {
    case 'tick':
      takeTick(draft, event.wall);
      break;
    case 'linkUp':
      takeLinkUp(draft, event);
      break;
    case 'linkDown':
      takeLinkDown(draft, event.peer, event.link);
      break;
    case 'beat':
      takeBeat(draft, event.peer, event.link, event.beat);
      break;
    case 'dialRefused':
      takeDialRefused(draft, event.peer, event.address);
      break;
    case 'dialFailed':
      takeDialFailed(draft, event.peer);
      break;
    case 'persisted':
      takePersisted(draft, event.epoch);
      break;
    case 'progress':
      change(draft, event.peer, ({ record }) => (record === null ? {} : { heardAt: draft.now, doubted: false }));
      break;
    case 'peerAdded':
      takePeerAdded(draft, event.peer, event.addresses);
      break;
    case 'peerRemoved':
      closeLinks(draft, event.peer);
      draft.peers.delete(event.peer);
      break;
    case 'card':
      takeCard(draft, event.card);
      break;
    case 'leave':
      draft.own = { ...draft.own, left: true, leads: 0 };
      tellAll(draft);
  }
}

/**
 * Lets time pass. When no event came for long, this process did not run, so it cannot have heard anybody: that silence
 * counts for nobody. After a pause as long as a loss the others have closed their connections.
 */
function passTime(draft: Draft, event: MembershipEvent): void {
  const gap = event.at - draft.now;
  draft.now = Math.max(draft.now, event.at);
  if (gap > STALL_MS) {
    for (const id of draft.peers.keys()) {
      change(draft, id, ({ heardAt, links }) => ({
        heardAt: heardAt + gap,
        links: new Map([...links].map(([link, heard]) => [link, heard + gap])),
      }));
    }
  }
  if (gap > LOST_MS) wake(draft);
}

function wake(draft: Draft): void {
  draft.quietUntil = draft.now + WAKE_SETTLE_MS;
  draft.heardAnyone = false;
  for (const id of draft.peers.keys()) {
    closeLinks(draft, id);
    change(draft, id, () => ({ failures: 0, nextDialAt: draft.now }));
  }
}

function takeTick(draft: Draft, wall: number): void {
  const ahead = wall - draft.now;
  // On Linux the clock of `at` stands still while the machine sleeps.
  if (draft.wallAhead !== null && ahead - draft.wallAhead > LOST_MS) wake(draft);
  draft.wallAhead = ahead;
  for (const [id, { links }] of draft.peers) {
    for (const [link, heard] of links) if (draft.now - heard >= LOST_MS) closeLink(draft, id, link);
  }
  if (draft.now >= draft.nextBeatAt) tellAll(draft);
}

function takeLinkUp(draft: Draft, { peer: id, link, host, port }: MembershipEvent & { type: 'linkUp' }): void {
  if (!draft.peers.has(id)) {
    draft.effects.push({ type: 'closeLink', link });
    return;
  }
  change(draft, id, (peer) => ({
    links: new Map(peer.links).set(link, draft.now),
    reached: { host, port },
    dialling: port === null ? peer.dialling : false,
    broken: false,
    failures: 0,
    nextDialAt: draft.now,
  }));
  tell(draft, [link]);
}

function takeLinkDown(draft: Draft, id: string, link: string): void {
  const peer = draft.peers.get(id);
  if (!peer?.links.has(link)) return;
  const links = without(peer.links, link);
  const broken = links.size === 0 && peer.record !== null && !peer.record.left;
  // A dial that has been under way for a while may be waiting for an answer to what was lost.
  change(draft, id, () => ({ links, broken, ...(broken && { nextDialAt: draft.now, dialling: false }) }));
}

function takeDialRefused(draft: Draft, id: string, address: string): void {
  change(draft, id, (peer) => {
    const { record } = peer;
    if (!peer.broken || record === null || address !== reachedAddress(peer)) return {};
    // Others may still hand on the beats that it sent before its end.
    return { broken: false, down: { run: record.run, beyond: record.sequence + 2 } };
  });
}

function takeDialFailed(draft: Draft, id: string): void {
  change(draft, id, (peer) => ({
    dialling: false,
    broken: false,
    doubted: peer.doubted || peer.broken,
    failures: peer.failures + 1,
    nextDialAt: draft.now + Math.min(REDIAL_MAX_MS, REDIAL_MIN_MS * 2 ** Math.min(peer.failures, 10)),
  }));
}

function takePeerAdded(draft: Draft, id: string, addresses: readonly string[]): void {
  if (id === draft.own.member) return;
  const known = draft.peers.get(id);
  if (known !== undefined && isDeepStrictEqual(known.addresses, addresses)) return;
  draft.peers.set(id, { ...(known ?? newPeer), addresses, failures: 0, nextDialAt: draft.now });
}

/** Whoever hears somebody has its network back, and needs to look no longer than one that starts. */
function hear(draft: Draft): void {
  if (draft.heardAnyone) return;
  draft.heardAnyone = true;
  draft.quietUntil = Math.min(draft.quietUntil, draft.now + settleMs(draft.epoch));
}

function takeCard(draft: Draft, card: MemberCard): void {
  const moved = !isDeepStrictEqual(card.hosts, draft.own.card.hosts);
  draft.own = { ...draft.own, card };
  // Another network may lead to whom none led before.
  if (moved) for (const id of draft.peers.keys()) change(draft, id, () => ({ failures: 0, nextDialAt: draft.now }));
  tellAll(draft);
}

function takeBeat(draft: Draft, from: string, link: string, beat: Beat): void {
  const sender = draft.peers.get(from);
  if (!sender?.links.has(link)) return;
  change(draft, from, ({ links }) => ({ links: new Map(links).set(link, draft.now) }));
  hear(draft);
  const most = reachableCounter(draft.poolMadeMs, draft.now + (draft.wallAhead ?? 0));
  const credible = (epoch: Epoch | null): boolean => epoch === null || epoch.counter <= most;
  const news = beat.news.filter(({ record }) => record.incarnation <= most);
  if (news.length < beat.news.length || !credible(beat.epoch)) draft.effects.push({ type: 'incredible', peer: from });
  for (const each of news) {
    if (each.record.member === draft.own.member) takeNewsOfSelf(draft, each.record);
    else takeNews(draft, from, each);
  }
  if (beat.epoch !== null && credible(beat.epoch) && compareEpochs(beat.epoch, newestEpoch(draft) ?? OLDEST) > 0) {
    persist(draft, beat.epoch, false);
  }
}

function takeNews(draft: Draft, from: string, { record, silentMs }: PresenceNews): void {
  change(draft, record.member, (peer) => {
    if (peer.record !== null && compareRecords(record, peer.record) <= 0) return {};
    if (silentMs >= LOST_MS) return { record };
    const { down } = peer;
    const stillDown =
      down !== null && record.member !== from && record.run === down.run && record.sequence <= down.beyond;
    return {
      record,
      heardAt: Math.max(peer.heardAt, draft.now - silentMs),
      down: stillDown ? down : null,
      doubted: false,
    };
  });
}

/** Somebody knows a record with this member's id that is not of this run: an earlier run's, or a twin's. */
function takeNewsOfSelf(draft: Draft, record: PresenceRecord): void {
  const { run, incarnation } = record;
  const { own, rival } = draft;
  if (run === own.run || incarnation < own.incarnation) return;
  // The dead do not answer: whoever outbids what was set against it, lives.
  if (rival?.run === run && incarnation > rival.against) draft.effects.push({ type: 'twin', record });
  draft.own = { ...own, incarnation: incarnation + 1 };
  draft.rival = { run, against: incarnation + 1 };
}

function takePersisted(draft: Draft, epoch: Epoch): void {
  const own = draft.pending?.own === true && isDeepStrictEqual(draft.pending.epoch, epoch);
  if (draft.pending !== null && compareEpochs(epoch, draft.pending.epoch) >= 0) draft.pending = null;
  if (compareEpochs(epoch, draft.epoch ?? OLDEST) <= 0) return;
  draft.epoch = epoch;
  if (own) draft.own = { ...draft.own, leads: epoch.counter };
  tellAll(draft);
}

/** Follows the leader where there is one; else begins the next epoch, if this member is the one to do so. */
function followOrLead(draft: Draft): void {
  const { own, pending } = draft;
  if (own.left || pending !== null) return;
  const present = presentRecords(draft);
  const leader = leaderOf(draft.epoch, present);
  if (leader !== null && leader !== own.member) {
    if (own.leads > 0) draft.own = { ...own, leads: 0 };
    return;
  }
  const first = firstInRank(present);
  if (leader === own.member) {
    if (first?.member === own.member || !own.card.abstains) return;
    draft.own = { ...own, leads: 0 };
    tellAll(draft);
    return;
  }
  if (first?.member !== own.member || !hasLookedAround(draft)) return;
  persist(draft, { counter: (draft.epoch?.counter ?? 0) + 1, coordinator: own.member }, true);
}

function hasLookedAround({ now, quietUntil, heardAnyone, peers }: Draft): boolean {
  if (now >= quietUntil || peers.size === 0) return true;
  return heardAnyone && [...peers.values()].every(({ record }) => record !== null);
}

function persist(draft: Draft, epoch: Epoch, own: boolean): void {
  draft.pending = { epoch, own };
  draft.effects.push({ type: 'persist', epoch });
}

function newestEpoch({ epoch, pending }: Draft): Epoch | null {
  return pending?.epoch ?? epoch;
}

function dialWhoIsDue(draft: Draft): void {
  if (draft.own.left) return;
  for (const [id, peer] of draft.peers) {
    if (peer.links.size > 0 || peer.dialling || draft.now < peer.nextDialAt) continue;
    const addresses = peerAddresses(peer);
    if (addresses.length === 0) {
      if (peer.broken) change(draft, id, () => ({ broken: false, doubted: true }));
      continue;
    }
    change(draft, id, () => ({ dialling: true }));
    draft.effects.push({ type: 'dial', peer: id, addresses });
  }
}

/** Beats, to everybody that this member has a link with. */
function tellAll(draft: Draft): void {
  draft.nextBeatAt = draft.now + BEAT_MS;
  tell(
    draft,
    [...draft.peers.values()].flatMap(({ links }) => [...links.keys()]),
  );
}

function tell(draft: Draft, links: string[]): void {
  if (links.length === 0) return;
  draft.own = { ...draft.own, sequence: draft.own.sequence + 1 };
  const news = [{ record: draft.own, silentMs: 0 }];
  for (const peer of draft.peers.values()) {
    if (peer.record === null) continue;
    // What is lost by other evidence than silence must not live on in somebody who has only now heard of it.
    const least = livenessOf(peer, draft.now) === 'lost' ? LOST_MS : 0;
    const silentMs = Math.min(Math.max(draft.now - peer.heardAt, least), LONG_SILENCE_MS);
    news.push({ record: peer.record, silentMs });
  }
  draft.effects.push({ type: 'send', links, beat: { epoch: draft.epoch, news } });
}

function change(draft: Draft, id: string, changes: (peer: Peer) => Partial<Peer>): void {
  const peer = draft.peers.get(id);
  if (peer !== undefined) draft.peers.set(id, { ...peer, ...changes(peer) });
}

function closeLink(draft: Draft, id: string, link: string): void {
  draft.effects.push({ type: 'closeLink', link });
  change(draft, id, ({ links }) => ({ links: without(links, link), nextDialAt: draft.now }));
}

function closeLinks(draft: Draft, id: string): void {
  for (const link of draft.peers.get(id)?.links.keys() ?? []) closeLink(draft, id, link);
}

function without(links: Peer['links'], link: string): Peer['links'] {
  return new Map([...links].filter(([name]) => name !== link));
}

const OLDEST: Epoch = { counter: 0, coordinator: '' };
/** Longer silences all mean the same, ms. */
const LONG_SILENCE_MS = 60_000;
