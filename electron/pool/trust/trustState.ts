import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { type Identity, openIdentity, saveIdentity } from '../identity.ts';
import { type PoolAuthority, savePoolAuthority } from '../poolAuthority.ts';
import { savePoolCertificate } from '../poolCertificate.ts';
import { PoolError } from '../poolError.ts';
import { markBirthplace } from './birthplace.ts';
import { type Place, readPlace, savePlace } from './place.ts';
import { PoolFiles, type Removal } from './poolFiles.ts';
import { EMPTY_ROSTER, type Entry, entriesOf, isMember, membersIn, mergeRoster, type Roster } from './roster.ts';
import { soloTls } from './soloTls.ts';
import { type TrustEvent, TrustEvents } from './trustEvents.ts';

/** A place whose machine holds the key of the pool's CA. */
export type AdminPlace = Place & { readonly authority: PoolAuthority };

/**
 * Who this machine is and where it stands, in memory and in its data folder. Changes come one after the other, are on disk
 * before anybody hears of them, and are told to `events`.
 */
export class TrustState {
  readonly home: string;
  readonly files: PoolFiles;
  readonly now: () => number;
  readonly events = new TrustEvents();
  #identity: Identity;
  #place: Place | null;
  #removal: Removal | null;
  #solo: TlsMaterial;
  #changes: Promise<unknown> = Promise.resolve();

  private constructor(
    home: string,
    now: () => number,
    kept: { files: PoolFiles; identity: Identity; place: Place | null; removal: Removal | null; solo: TlsMaterial },
  ) {
    this.home = home;
    this.now = now;
    this.files = kept.files;
    this.#identity = kept.identity;
    this.#place = kept.place;
    this.#removal = kept.removal;
    this.#solo = kept.solo;
  }

  /** Throws PoolError('DamagedFile'). */
  static async open(home: string, now: () => number): Promise<TrustState> {
    const files = new PoolFiles(home);
    const identity = await openIdentity(home);
    const place = await readPlace(home, files, identity, now);
    const removal = await files.readRemoval();
    return new TrustState(home, now, { files, identity, place, removal, solo: await soloTls(identity, now) });
  }

  get identity(): Identity {
    return this.#identity;
  }

  /** Null in no pool. */
  get place(): Place | null {
    return this.#place;
  }

  get roster(): Roster {
    return this.#place?.roster ?? EMPTY_ROSTER;
  }

  /** What this machine speaks with now: as a member of its pool, or in no pool with itself alone. */
  get tls(): TlsMaterial {
    return this.#place?.tls ?? this.#solo;
  }

  /** When this machine was removed from its last pool, null when that is not how it came to be in none. */
  get removal(): Removal | null {
    return this.#removal;
  }

  admits(member: string): boolean {
    return this.#place === null ? member === this.#identity.id : isMember(this.#place.roster, member);
  }

  /** Throws PoolError('NotInPool'). */
  placed(): Place {
    if (this.#place !== null) return this.#place;
    throw new PoolError('NotInPool', 'This machine is in no pool. Create one, or join with an invite token.');
  }

  /** Throws PoolError('NotInPool') or, naming the admins, PoolError('NotAdmin'). */
  asAdmin(): AdminPlace {
    const place = this.placed();
    const { authority } = place;
    if (authority !== null) return { ...place, authority };
    const names = adminNames(place.roster).join(', ') || 'nobody here knows of one';
    throw new PoolError('NotAdmin', `Only an admin of the pool can do that. Its admins: ${names}.`);
  }

  /** Comes into a pool, as `identity`. Throws PoolError('InPool') where it is in one, unless that is what changes. */
  enter(place: Place, identity: Identity, why: 'Created' | 'Joined' | 'Imported' | 'Rekeyed'): Promise<void> {
    return this.#exclusive(async () => {
      if (why !== 'Rekeyed') this.assertFree();
      if (identity.id !== this.#identity.id) await this.#replaceIdentity(identity);
      await savePlace(this.home, this.files, place);
      const solo = await soloTls(identity, this.now);
      this.#identity = identity;
      this.#solo = solo;
      this.#place = place;
      this.#removal = null;
      this.events.emit({ kind: 'PoolChanged', why, gone: [] });
    });
  }

  /** Throws PoolError('InPool'). */
  assertFree(): void {
    if (this.#place === null) return;
    const name = this.#place.roster.pool?.name ?? this.#place.pool;
    throw new PoolError('InPool', `This machine is in the pool ${name}. Leave it first.`);
  }

  /** Goes out of the pool, where it is in one, and keeps nothing of it. */
  leave(): Promise<void> {
    return this.#exclusive(async () => {
      if (this.#place !== null) await this.#exit(this.#place, 'Left');
    });
  }

  /** Takes the key of the pool's CA. */
  async takeAuthority(authority: PoolAuthority): Promise<void> {
    await this.#exclusive(async () => {
      const place = this.placed();
      await savePoolAuthority(this.home, authority);
      this.#place = { ...place, authority };
    });
  }

  /** Shows another certificate (PEM) from now on, of the same key and pool. */
  async setCertificate(cert: string): Promise<void> {
    await this.#exclusive(async () => {
      const place = this.placed();
      await savePoolCertificate(this.home, { ca: place.tls.ca, certificate: cert });
      this.#place = { ...place, tls: { ...place.tls, cert } };
      this.events.emit({ kind: 'CertificateRenewed' });
    });
  }

  /**
   * Merges what `make` finds to say, given the roster as it is then. Nothing happens when this machine is no longer in `pool`.
   * Answers whether anything was new.
   */
  edit(pool: string, make: (roster: Roster) => readonly Entry[]): Promise<boolean> {
    return this.#exclusive(async () => {
      const place = this.#place;
      if (place === null || place.pool !== pool) return false;
      const roster = mergeRoster(place.roster, make(place.roster));
      if (roster === place.roster) return false;
      await this.files.writeRoster(entriesOf(roster).map(({ signed }) => signed));
      this.#place = { ...place, roster };
      this.events.emit(differenceOf(place.roster, roster));
      const own = roster.members.get(this.#identity.id);
      if (own !== undefined && own.standing !== 'in')
        await this.#exit(place, own.standing === 'left' ? 'Left' : 'Removed');
      return true;
    });
  }

  async #exit(place: Place, why: 'Left' | 'Removed'): Promise<void> {
    await this.files.clear();
    this.#removal = why === 'Removed' ? { poolName: place.roster.pool?.name ?? place.pool, atMs: this.now() } : null;
    await this.files.writeRemoval(this.#removal);
    this.#place = null;
    this.events.emit({ kind: 'PoolChanged', why, gone: membersIn(place.roster).map(({ id }) => id) });
  }

  async #replaceIdentity(identity: Identity): Promise<void> {
    await this.files.clear();
    await saveIdentity(this.home, identity);
    await markBirthplace(this.home);
  }

  #exclusive<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#changes.then(change);
    this.#changes = result.catch(() => {});
    return result;
  }
}

/** The names of a roster's admins. */
export function adminNames(roster: Roster): string[] {
  return membersIn(roster)
    .filter(({ admin }) => admin)
    .map(({ name }) => name);
}

function differenceOf(before: Roster, after: Roster): TrustEvent {
  const come: string[] = [];
  const gone: string[] = [];
  for (const id of after.members.keys()) {
    const [was, is] = [isMember(before, id), isMember(after, id)];
    if (is && !was) come.push(id);
    if (was && !is) gone.push(id);
  }
  return { kind: 'RosterChanged', come, gone };
}
