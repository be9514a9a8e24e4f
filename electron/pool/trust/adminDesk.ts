import { createPublicKey, type KeyObject } from 'node:crypto';
import type { JoinGrant } from '../../wire/generated/roomful/v1/join.ts';
import { PoolError } from '../poolError.ts';
import { sealBackup } from './authorityExport.ts';
import { checkHosts } from './certificateHosts.ts';
import { readCertificateRequest } from './certificateRequest.ts';
import type { OpenInvite } from './inviteBook.ts';
import { InviteDoor } from './inviteDoor.ts';
import type { Applicant } from './joinListener.ts';
import { textOfEntry } from './poolFiles.ts';
import { entriesOf, isMember, membersIn } from './roster.ts';
import { draftChange, draftNewcomer, draftPoolName, draftRemoval, memberIn } from './rosterDrafts.ts';
import { signMember, signPool } from './rosterEntry.ts';
import { sealAuthority } from './sealAuthority.ts';
import { askPeer, type ReachablePeer } from './trustPeers.ts';
import type { TrustState } from './trustState.ts';

/** What an admin needs to know of the world around it. */
export interface DeskSurroundings {
  /** Where machines that want to join are listened for: a literal address, and a port or 0. */
  joinDoor: { host: string; port: number };
  /** Addresses or names of this machine, the best first, for invites. */
  hosts: () => readonly string[];
  /** `host:port` of this member's control plane, the best first. */
  addresses: () => readonly string[];
  /** The other members that are there now. */
  peers: () => readonly ReachablePeer[];
  onError: (cause: unknown) => void;
}

/** Members that may come from copies of one member's data folder: nobody fills the pool that way. */
const MOST_COPIES = 8;
const MIN_TTL_MS = 1000;
const MAX_TTL_MS = 7 * 24 * 60 * 60 * 1000;

/** What the holder of the CA key does for its pool. Every method throws PoolError('NotAdmin') on who holds none. */
export class AdminDesk {
  readonly #state: TrustState;
  readonly #around: DeskSurroundings;
  #door: InviteDoor | null = null;
  #opening: Promise<InviteDoor> | null = null;

  constructor(state: TrustState, around: DeskSurroundings) {
    this.#state = state;
    this.#around = around;
  }

  /** The text of a token that lets one machine in, until `ttlMs` from now. Throws ListenFailed. */
  async invite(ttlMs: number): Promise<{ token: string; expiresAtMs: number }> {
    const { pool, roster } = this.#state.asAdmin();
    if (!(ttlMs >= MIN_TTL_MS && ttlMs <= MAX_TTL_MS)) {
      throw new PoolError('Refused', 'An invite can be good for a second to seven days.');
    }
    const hosts = this.#around.hosts();
    if (hosts.length === 0) {
      throw new PoolError(
        'Unreachable',
        'This machine has no network address that an invite could name. Connect it first.',
      );
    }
    const expiresAtMs = Math.floor(this.#state.now() + ttlMs);
    const door = await this.#openDoor();
    const token = await door.invite({ pool, poolName: roster.pool?.name ?? pool, hosts, expiresAtMs });
    return { token, expiresAtMs };
  }

  /** Invites of this machine that somebody may still use; none where it is no admin. */
  get openInvites(): OpenInvite[] {
    return this.#door?.openInvites ?? [];
  }

  /** Ends an open invite. Throws PoolError('UnknownInvite'). */
  async withdrawInvite(id: string): Promise<void> {
    this.#state.asAdmin();
    await (await this.#openDoor()).withdraw(id);
  }

  /** Opens the door again for invites that are out, where this machine is an admin; closes it where none are. */
  async tend(): Promise<void> {
    if ((this.#state.place?.authority ?? null) === null) await this.close();
    else (await this.#openDoor()).tidy();
  }

  /** Lets in who holds an open invite: burns it, signs, and writes the newcomer into the roster. */
  async admit(applicant: Applicant): Promise<JoinGrant> {
    const { authority, pool } = this.#state.asAdmin();
    const door = await this.#openDoor();
    door.check(applicant);
    const { id, publicKey } = await readCertificateRequest(applicant.certificateRequest);
    const there = [this.#state.identity.id, ...this.#around.peers().map((peer) => peer.id)];
    if (there.includes(id)) {
      throw new PoolError(
        'IdTaken',
        'A member with the same key is there already: this data folder is a copy of its own.',
      );
    }
    await door.burn(applicant, id);
    const certificate = await authority.issueCertificate(publicKey);
    const { name, addresses } = applicant;
    await this.#sign(pool, { id, publicKey, name, origin: null });
    this.#state.events.emit({ kind: 'MemberJoined', member: id, addresses });
    const own = this.#around.addresses().map((address) => ({ member: this.#state.identity.id, address }));
    const others = this.#around.peers().map((peer) => ({ member: peer.id, address: peer.address }));
    const roster = entriesOf(this.#state.roster).map(({ signed }) => signed);
    return { certificate, roster, contacts: [...own, ...others] };
  }

  /** A certificate, PEM, for the key of a member; it holds these hosts. Throws PoolError('Refused') on one of elsewhere. */
  async renew(member: string, hosts: readonly string[]): Promise<string> {
    const { authority, roster } = this.#state.asAdmin();
    return authority.issueCertificate(keyOf(memberIn(roster, member).publicKey), checkHosts(hosts));
  }

  /** A certificate, PEM, for the new key of a member whose folder is a copy; the key becomes a member of its own. */
  async rekey(certificateRequest: Uint8Array, origin: string): Promise<string> {
    const { authority, roster, pool } = this.#state.asAdmin();
    const { name, admin } = memberIn(roster, origin);
    const { id, publicKey } = await readCertificateRequest(certificateRequest);
    if (roster.members.has(id)) throw new PoolError('IdTaken', 'The new key belongs to a member already.');
    if (membersIn(roster).filter((entry) => entry.origin === origin).length >= MOST_COPIES) {
      throw new PoolError('Refused', `Copies of ${name}'s data folder have been let in often enough. Invite the next.`);
    }
    const certificate = await authority.issueCertificate(publicKey);
    await this.#sign(pool, { id, publicKey, name, origin }, admin);
    return certificate;
  }

  /** The ids of all that were removed: the member, and those that came from copies of its folder. */
  async remove(member: string): Promise<string[]> {
    const { authority, pool } = this.#state.asAdmin();
    if (member === this.#state.identity.id) {
      throw new PoolError('Refused', "This is the machine itself. 'roomful leave' takes it out of the pool.");
    }
    let removed: string[] = [];
    await this.#state.edit(pool, (roster) => {
      const entries = draftRemoval(roster, member, this.#state.now()).map((draft) => signMember(authority, draft));
      removed = entries.map(({ id }) => id);
      return entries;
    });
    return removed;
  }

  /** Writes down that a member has left, or its new name, or that it holds the CA key. */
  async change(member: string, change: { name?: string; admin?: true; standing?: 'left' }): Promise<void> {
    const { authority, pool } = this.#state.asAdmin();
    const line = change.standing === 'left' ? { ...change, admin: false } : change;
    await this.#state.edit(pool, (roster) => [
      signMember(authority, draftChange(roster, member, line, this.#state.now())),
    ]);
  }

  async renamePool(name: string): Promise<void> {
    const { authority, pool } = this.#state.asAdmin();
    await this.#state.edit(pool, (roster) => [signPool(authority, draftPoolName(roster, name, this.#state.now()))]);
  }

  /** Hands the CA key to a member that is there, encrypted to its key; the member writes down that it holds it. */
  async promote(member: string): Promise<ReachablePeer> {
    const { authority, roster, pool, tls } = this.#state.asAdmin();
    const { publicKey, name } = memberIn(roster, member);
    const peer = this.#around.peers().find(({ id }) => id === member);
    if (peer === undefined) {
      throw new PoolError('Unreachable', `${name} cannot be reached now. Try again when it is there.`);
    }
    const sealed = sealAuthority(authority.exportKey(), pool, keyOf(publicKey));
    await askPeer(tls, peer, (client) => client.takeAuthority(sealed));
    return peer;
  }

  /** The CA and the roster, encrypted with a passphrase, as the text of a file. */
  async exportAuthority(passphrase: string): Promise<string> {
    const { authority, roster, pool } = this.#state.asAdmin();
    const backup = {
      key: authority.exportKey(),
      certificate: authority.certificate,
      roster: entriesOf(roster).map(({ signed }) => textOfEntry(signed)),
    };
    return sealBackup(backup, { pool, poolName: roster.pool?.name ?? pool, passphrase });
  }

  /** The certificate that this machine shows has changed. */
  refreshTls(): void {
    this.#door?.setTls(this.#state.tls);
  }

  /** Lets nobody join any more, until the next invite. */
  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = null;
    this.#door = null;
    await opening?.then(
      (door) => door.close(),
      // Whoever opened it has heard why it did not open.
      () => {},
    );
  }

  async #sign(
    pool: string,
    newcomer: { id: string; publicKey: KeyObject; name: string; origin: string | null },
    admin = false,
  ): Promise<void> {
    const { authority } = this.#state.asAdmin();
    const publicKey = newcomer.publicKey.export({ type: 'spki', format: 'der' });
    await this.#state.edit(pool, (roster) => [
      signMember(authority, draftNewcomer(roster, { ...newcomer, publicKey, admin }, this.#state.now())),
    ]);
    if (!isMember(this.#state.roster, newcomer.id))
      throw new PoolError('Refused', 'The pool has changed meanwhile. Try again.');
  }

  async #openDoor(): Promise<InviteDoor> {
    this.#opening ??= InviteDoor.open({
      files: this.#state.files,
      listen: this.#around.joinDoor,
      tls: () => this.#state.tls,
      admit: (applicant) => this.admit(applicant),
      now: this.#state.now,
      onChange: () => this.#state.events.emit({ kind: 'InvitesChanged' }),
      onError: this.#around.onError,
    });
    const opening = this.#opening;
    try {
      const door = await opening;
      if (this.#opening === opening) this.#door = door;
      return door;
    } catch (cause) {
      if (this.#opening === opening) this.#opening = null;
      throw cause;
    }
  }
}

function keyOf(spki: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
}
