import { randomInt } from 'node:crypto';
import type { SealedAuthority } from '../../wire/generated/roomful/v1/trust.ts';
import { ListenFailed } from '../../wire/secureListener.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { trustService } from '../../wire/trustService.ts';
import { CallRefused, WireError } from '../../wire/wireError.ts';
import type { ServedService } from '../../wire/wireServer.ts';
import { newIdentity } from '../identity.ts';
import { importPoolAuthority, newPoolAuthority, type PoolAuthority } from '../poolAuthority.ts';
import { PoolError } from '../poolError.ts';
import { AdminDesk, type DeskSurroundings } from './adminDesk.ts';
import { openBackup } from './authorityExport.ts';
import { isAtBirthplace } from './birthplace.ts';
import { holdsHosts } from './certificateHosts.ts';
import type { OpenInvite } from './inviteBook.ts';
import { type Invite, parseInvite } from './inviteToken.ts';
import { joinPool } from './joinPool.ts';
import { readMemberName, writeMemberName } from './memberName.ts';
import { parseName } from './names.ts';
import { isCertificateOf, type Place, rosterOf, tlsOf } from './place.ts';
import { entryOfText, type Removal } from './poolFiles.ts';
import { renewalDue, validUntilMs } from './renewalDue.ts';
import { EMPTY_ROSTER, isMember, membersIn, mergeRoster, type Roster, rosterVersion } from './roster.ts';
import { draftChange, draftNewcomer, draftPoolName } from './rosterDrafts.ts';
import { signMember, signPool } from './rosterEntry.ts';
import { RosterSync } from './rosterSync.ts';
import { unsealAuthority } from './sealAuthority.ts';
import type { TrustEvent } from './trustEvents.ts';
import type { ReachablePeer } from './trustPeers.ts';
import { TrustState } from './trustState.ts';
import type { TwinVerdict } from './twin.ts';
import { TwinWatch } from './twinWatch.ts';

export interface PoolTrustOptions extends DeskSurroundings {
  /** Data folder. */
  home: string;
  /** The member's name until it is renamed. */
  name: string;
  /** ms since 1970. */
  now?: () => number;
}

/** The pool that this machine is in. */
export interface PoolView {
  /** The hash of its CA's public key, by which tokens and discovery know it. */
  id: string;
  name: string;
  /** Whether this machine holds the CA key. */
  admin: boolean;
  /** Of the roster; it only grows. */
  version: number;
  /** When this machine's certificate ends, ms since 1970; it is renewed a month before. */
  certificateUntilMs: number;
}

export interface RosterMember {
  id: string;
  name: string;
  admin: boolean;
  self: boolean;
}

const DEFAULT_TTL_MS = 10 * 60 * 1000;
/** Between looks at what is due: a renewal, a name that no admin has written down, a comparison of rosters. */
const TEND_INTERVAL_MS = 30_000;

/**
 * Who belongs to this machine's pool: comes and goes, invites, and keeps the roster that every server asks. What it
 * promises of its files: all are 0600, and a change is on disk before it is told.
 */
export class PoolTrust {
  readonly #state: TrustState;
  readonly #desk: AdminDesk;
  readonly #sync: RosterSync;
  readonly #options: PoolTrustOptions;
  readonly #twins: TwinWatch;
  #name: string;
  /** What the next certificate is to hold. */
  #hosts: readonly string[] = [];
  #timer: NodeJS.Timeout | null = null;
  #tending: Promise<void> | null = null;

  private constructor(state: TrustState, options: PoolTrustOptions, kept: { name: string; atHome: boolean }) {
    this.#state = state;
    this.#options = options;
    this.#name = kept.name;
    const report = (cause: unknown): void => this.#report(cause);
    this.#desk = new AdminDesk(state, options);
    this.#sync = new RosterSync(state, options.peers, report);
    this.#twins = new TwinWatch(state, { desk: this.#desk, sync: this.#sync, atHome: kept.atHome, report });
    state.events.on((event) => this.#follow(event));
  }

  /** What the data folder holds, and goes on with it. Throws PoolError('DamagedFile'). */
  static async open(options: PoolTrustOptions): Promise<PoolTrust> {
    const state = await TrustState.open(options.home, options.now ?? Date.now);
    const name = (await readMemberName(options.home)) ?? parseName(options.name);
    const trust = new PoolTrust(state, options, { name, atHome: await isAtBirthplace(options.home) });
    trust.#timer = setInterval(() => trust.#guard(trust.tend()), TEND_INTERVAL_MS).unref();
    trust.#guard(trust.tend());
    return trust;
  }

  get self(): { id: string; name: string } {
    return { id: this.#state.identity.id, name: this.#name };
  }

  /** Null in no pool. */
  get pool(): PoolView | null {
    const { place } = this.#state;
    if (place === null) return null;
    const { pool: id, roster, authority, tls } = place;
    return {
      id,
      name: roster.pool?.name ?? id,
      admin: authority !== null,
      version: rosterVersion(roster),
      certificateUntilMs: validUntilMs(tls.cert),
    };
  }

  /** When this machine was removed from its last pool; null when it is in one, or left by itself. */
  get removal(): Removal | null {
    return this.#state.removal;
  }

  /** What this machine speaks with now; in no pool, something that only it accepts itself. */
  get tls(): TlsMaterial {
    return this.#state.tls;
  }

  /** Those that are in the pool, in no order; none in no pool. */
  get members(): RosterMember[] {
    return membersIn(this.#state.roster).map(({ id, name, admin }) => ({ id, name, admin, self: id === this.self.id }));
  }

  /** Whether a member may speak to this one; to be asked for every call. */
  admits(member: string): boolean {
    return this.#state.admits(member);
  }

  /** Calls `listener` for every change, until the function that it returns is called. */
  onChange(listener: (event: TrustEvent) => void): () => void {
    return this.#state.events.on(listener);
  }

  /** Makes a pool of which this machine is the first member and admin. Throws PoolError: 'InPool', 'BadName'. */
  async create(poolName: string): Promise<void> {
    this.#state.assertFree();
    const name = parseName(poolName);
    const authority = await newPoolAuthority(this.#state.now);
    const named = signPool(authority, draftPoolName(EMPTY_ROSTER, name, this.#state.now()));
    await this.#enterAsAdmin(authority, mergeRoster(EMPTY_ROSTER, [named]), 'Created');
  }

  /** The text of a token that lets one machine in. Throws PoolError('NotAdmin') and ListenFailed. */
  invite({ ttlMs = DEFAULT_TTL_MS }: { ttlMs?: number } = {}): Promise<{ token: string; expiresAtMs: number }> {
    return this.#desk.invite(ttlMs);
  }

  /** Invites of this machine that somebody may still use. */
  get openInvites(): OpenInvite[] {
    return this.#desk.openInvites;
  }

  /** Ends an open invite. Throws PoolError: 'NotAdmin', 'UnknownInvite'. */
  withdrawInvite(id: string): Promise<void> {
    return this.#desk.withdrawInvite(id);
  }

  /** What a token says, so that its holder can be asked first. Throws PoolError('BadInvite'). */
  static readInvite(token: string): Pick<Invite, 'pool' | 'poolName' | 'expiresAtMs'> {
    const { pool, poolName, expiresAtMs } = parseInvite(token);
    return { pool, poolName, expiresAtMs };
  }

  /**
   * Joins the pool of a token, with a new key where a member with this machine's key is there already. Answers the members
   * that are there now. Throws PoolError that says why not, see joinPool; 'InPool' where this machine is in one.
   */
  async join(token: string): Promise<ReachablePeer[]> {
    this.#state.assertFree();
    const invite = parseInvite(token);
    let { identity } = this.#state;
    const apply = () =>
      joinPool(invite, {
        identity,
        name: this.#name,
        addresses: this.#options.addresses(),
        nowMs: this.#state.now(),
      });
    const joined = await apply().catch((cause: unknown) => {
      if (!(cause instanceof PoolError) || cause.kind !== 'IdTaken') throw cause;
      identity = newIdentity();
      return apply();
    });
    const { ca, certificate, contacts } = joined;
    const roster = rosterOf(joined.roster, { pool: invite.pool, ca });
    if (!isMember(roster, identity.id)) throw new PoolError('Refused', 'The pool did not write this machine down.');
    const tls = tlsOf(identity, ca, certificate);
    await this.#state.enter({ pool: invite.pool, tls, roster, authority: null }, identity, 'Joined');
    return contacts.map(({ member, address }) => ({ id: member, address }));
  }

  /**
   * Goes out of the pool. The others are told where that is possible; otherwise they list this machine until an admin removes
   * it. Throws PoolError('LastAdmin') where nobody else could invite or remove any more, unless told to `abandon` them.
   */
  async leave({ abandon = false }: { abandon?: boolean } = {}): Promise<void> {
    const { roster, authority, pool } = this.#state.placed();
    const others = membersIn(roster).filter(({ id }) => id !== this.self.id);
    if (authority !== null && !abandon && others.length > 0 && !others.some(({ admin }) => admin)) {
      throw new PoolError(
        'LastAdmin',
        'This machine is the only admin: without it nobody can invite or remove. Promote another member first.',
      );
    }
    if (authority === null) {
      await this.#sync.askAdmin((client) => client.leave()).catch((cause: unknown) => this.#report(cause));
    } else if (isMember(roster, this.self.id)) {
      const line = draftChange(roster, this.self.id, { standing: 'left', admin: false }, this.#state.now());
      await this.#sync.tell(signMember(authority, line).signed);
    }
    if (this.#state.place?.pool === pool) await this.#state.leave();
  }

  /**
   * Removes a member, and those that came from copies of its data folder; answers the ids of all. Who was an admin still has
   * the CA key: what keeps its owner out for good is a new pool. Throws PoolError: 'NotAdmin', 'UnknownMember'.
   */
  remove(member: string): Promise<string[]> {
    return this.#desk.remove(member);
  }

  /** Names this machine; an admin writes it down, now or when one is there. Throws PoolError('BadName'). */
  async rename(name: string): Promise<void> {
    const parsed = parseName(name);
    await writeMemberName(this.#options.home, parsed);
    this.#name = parsed;
    await this.#tellName().catch(ignoreUnreachable);
  }

  /** Throws PoolError: 'NotAdmin', 'BadName'. */
  async renamePool(name: string): Promise<void> {
    await this.#desk.renamePool(parseName(name));
  }

  /** Makes a member an admin too. Throws PoolError: 'NotAdmin', 'UnknownMember', 'Unreachable'. */
  async promote(member: string): Promise<void> {
    await this.syncWith(await this.#desk.promote(member));
  }

  /** All that the pool needs to live on without its admins, encrypted. Throws PoolError: 'NotAdmin', 'WrongPassphrase'. */
  exportAuthority(passphrase: string): Promise<string> {
    return this.#desk.exportAuthority(passphrase);
  }

  /**
   * Makes this machine an admin with what was exported, and in no pool a member too. Throws PoolError: 'BadExport',
   * 'WrongPassphrase', 'InPool' where it is in another pool.
   */
  async importAuthority(text: string, passphrase: string): Promise<void> {
    const { key, certificate, roster } = await openBackup(text, passphrase);
    const authority = importPoolAuthority(key, certificate, this.#state.now);
    const { pool } = authority;
    if (this.#state.place?.pool === pool) return this.#becomeAdmin(authority);
    this.#state.assertFree();
    await this.#enterAsAdmin(authority, rosterOf(roster.map(entryOfText), { pool, ca: certificate }), 'Imported');
  }

  /**
   * Compares rosters with another member: to be called when one is met, before anything else is asked of it. Rejects with a
   * WireError, or PoolError('BadRoster').
   */
  syncWith(peer: ReachablePeer): Promise<void> {
    return this.#sync.syncWith(peer);
  }

  /**
   * Asks the process at an address that has this machine's id which it is. Two that have the same take different keys from
   * then on: where this one has to, it is rekeyed when this resolves. Rejects with a WireError.
   */
  checkTwin(address: string): Promise<TwinVerdict> {
    return this.#twins.check(address);
  }

  /**
   * Has this machine's certificate hold the addresses and names by which programs outside the pool reach it; one that holds
   * them already stays. Rejects with PoolError: 'NotInPool', 'Unreachable' where no admin is there, 'Refused'.
   */
  async certifyHosts(hosts: readonly string[]): Promise<void> {
    const { tls } = this.#state.placed();
    this.#hosts = hosts;
    if (!holdsHosts(tls.cert, hosts)) await this.#renew();
  }

  /** The service that answers other members; for every server's list. */
  get service(): ServedService {
    return trustService({
      syncRoster: (entries, peer) => this.#sync.exchange(entries, peer),
      renew: (peer, hosts) => this.#desk.renew(peer, hosts),
      rename: (name, peer) => this.#desk.change(peer, { name: parseName(name) }),
      leave: (peer) => this.#desk.change(peer, { standing: 'left' }),
      takeAuthority: (sealed, peer) => this.#takeAuthority(sealed, peer),
      meet: async (presence, peer) => this.#twins.meet(presence, peer),
      rekey: (request, peer) => this.#desk.rekey(request, peer),
      admits: (peer) => this.admits(peer),
    });
  }

  /** Does what is due: renews, has the name written down, tends the door for joins, compares rosters with somebody. */
  tend(): Promise<void> {
    this.#tending ??= this.#tend().finally(() => {
      this.#tending = null;
    });
    return this.#tending;
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#desk.close();
    await this.#sync.settled();
  }

  async #tend(): Promise<void> {
    const { place, now } = this.#state;
    await this.#desk.tend();
    if (place === null) return;
    if (renewalDue(place.tls.cert, now())) await this.#renew().catch(ignoreUnreachable);
    await this.#tellName().catch(ignoreUnreachable);
    const peers = this.#options.peers();
    const peer = peers[randomInt(Math.max(1, peers.length))];
    if (peer !== undefined) await this.syncWith(peer).catch(ignoreUnreachable);
  }

  #follow(event: TrustEvent): void {
    if (event.kind === 'CertificateRenewed') this.#desk.refreshTls();
    if (event.kind === 'RosterChanged') this.#sync.push();
    if (event.kind === 'PoolChanged') this.#guard(this.#desk.close().then(() => this.#desk.tend()));
  }

  async #enterAsAdmin(authority: PoolAuthority, roster: Roster, why: 'Created' | 'Imported'): Promise<void> {
    const { identity, now } = this.#state;
    const { id, publicKey } = identity;
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    const newcomer = { id, publicKey: spki, name: this.#name, admin: true, origin: null };
    const line = signMember(authority, draftNewcomer(roster, newcomer, now()));
    const place: Place = {
      pool: authority.pool,
      tls: tlsOf(identity, authority.certificate, await authority.issueCertificate(publicKey)),
      roster: mergeRoster(roster, [line]),
      authority,
    };
    await this.#state.enter(place, identity, why);
  }

  async #becomeAdmin(authority: PoolAuthority): Promise<void> {
    await this.#state.takeAuthority(authority);
    await this.#desk.change(this.self.id, { admin: true });
    await this.#desk.tend();
  }

  async #takeAuthority(sealed: SealedAuthority, peer: string): Promise<void> {
    const { pool, roster, tls } = this.#state.placed();
    if (roster.members.get(peer)?.admin !== true) {
      throw new PoolError('NotAdmin', "Only an admin can hand the pool's key over.");
    }
    const key = unsealAuthority(sealed, pool, this.#state.identity.privateKey);
    await this.#becomeAdmin(importPoolAuthority(key, tls.ca, this.#state.now));
  }

  async #renew(): Promise<void> {
    const { authority } = this.#state.placed();
    const certificate =
      authority === null
        ? await this.#sync.askAdmin((client) => client.renew(this.#hosts))
        : await this.#desk.renew(this.self.id, this.#hosts);
    if (!isCertificateOf(certificate, this.#state.identity, this.#state.placed().tls.ca)) {
      throw new PoolError('Refused', 'An admin answered with a certificate that is not for this machine.');
    }
    await this.#state.setCertificate(certificate);
  }

  /** Has the name written into the roster, where another one stands there. */
  async #tellName(): Promise<void> {
    const { place, identity } = this.#state;
    if (place === null || place.roster.members.get(identity.id)?.name === this.#name) return;
    if (place.authority === null) await this.#sync.askAdmin((client) => client.rename(this.#name));
    else await this.#desk.change(identity.id, { name: this.#name });
  }

  #guard(work: Promise<unknown>): void {
    work.catch((cause: unknown) => this.#report(cause));
  }

  /** That a peer cannot be reached is no news: who is there is said by others, and what was missed is made up for later. */
  #report(cause: unknown): void {
    if (!isUnreachable(cause)) this.#options.onError(cause);
  }
}

/** Whether another member could not be asked, or does not know this one any more. */
function isUnreachable(cause: unknown): boolean {
  if (cause instanceof CallRefused) return cause.reason === 'NotAdmitted';
  if (cause instanceof PoolError) return cause.kind === 'Unreachable';
  return cause instanceof WireError && !(cause instanceof ListenFailed);
}

function ignoreUnreachable(cause: unknown): void {
  if (!isUnreachable(cause)) throw cause;
}
