import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardServer } from '../../electron/pool/trust/guardServer.ts';
import { PoolTrust } from '../../electron/pool/trust/poolTrust.ts';
import type { TrustEvent } from '../../electron/pool/trust/trustEvents.ts';
import type { HelloReply } from '../../electron/wire/generated/roomful/v1/member.ts';
import { MemberClient } from '../../electron/wire/memberClient.ts';
import { type MemberHandlers, memberService } from '../../electron/wire/memberService.ts';
import { type ServedService, WireServer } from '../../electron/wire/wireServer.ts';

/** What a member does beside trusting. */
export interface MemberWork {
  handlers?: Partial<MemberHandlers>;
  services?: ServedService[];
}

/** Members of pools in one process: the real trust and the real server, and a list in place of discovery. */
export class TrustRoom {
  readonly folder: string;
  /** The clock of every member, ms since 1970, and what is added to it. */
  clock: () => number = Date.now;
  aheadMs = 0;
  readonly #members: TrustMember[] = [];

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(): Promise<TrustRoom> {
    return new TrustRoom(await mkdtemp(join(tmpdir(), 'roomful-trust-')));
  }

  now = (): number => this.clock() + this.aheadMs;

  /** A member with the data folder `home` below the room's, in the pool that the folder says, or in none. */
  async start(home: string, name = home, work: (trust: PoolTrust) => MemberWork = () => ({})): Promise<TrustMember> {
    const member = await TrustMember.start(this, { folder: home, name, work });
    this.#members.push(member);
    return member;
  }

  /** A pool of the first, which the others have joined. */
  async pool(first: string, ...others: string[]): Promise<[TrustMember, ...TrustMember[]]> {
    const founder = await this.start(first);
    await founder.trust.create(`${first}'s pool`);
    const joined: TrustMember[] = [];
    for (const other of others) {
      const member = await this.start(other);
      await member.join((await founder.trust.invite()).token);
      joined.push(member);
    }
    return [founder, ...joined];
  }

  othersThan(member: TrustMember): TrustMember[] {
    return this.#members.filter((other) => other !== member && other.reachable);
  }

  async close(): Promise<void> {
    for (const member of this.#members) await member.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

export class TrustMember {
  readonly trust: PoolTrust;
  readonly server: WireServer;
  readonly home: string;
  readonly events: TrustEvent[];
  readonly errors: unknown[];
  /** Whether the others can reach this one, and are told of it. */
  reachable = true;

  private constructor(parts: Pick<TrustMember, 'trust' | 'server' | 'home' | 'events' | 'errors'>) {
    this.trust = parts.trust;
    this.server = parts.server;
    this.home = parts.home;
    this.events = parts.events;
    this.errors = parts.errors;
  }

  static async start(
    room: TrustRoom,
    { folder, name, work }: { folder: string; name: string; work: (trust: PoolTrust) => MemberWork },
  ): Promise<TrustMember> {
    const home = join(room.folder, folder);
    const errors: unknown[] = [];
    const events: TrustEvent[] = [];
    let member: TrustMember | null = null;
    const trust: PoolTrust = await PoolTrust.open({
      home,
      name,
      now: room.now,
      joinDoor: { host: '127.0.0.1', port: 0 },
      hosts: () => ['127.0.0.1'],
      addresses: () => (member === null ? [] : [member.server.address]),
      peers: () =>
        member === null
          ? []
          : room
              .othersThan(member)
              .filter(({ trust: other }) => other.pool?.id === trust.pool?.id)
              .map(({ trust: other, server }) => ({ id: other.self.id, address: server.address })),
      onError: (cause) => errors.push(cause),
    });
    trust.onChange((event) => events.push(event));
    const hello = async (): Promise<HelloReply> => ({
      wireVersion: 1,
      build: 'b',
      member: trust.self.id,
      name,
      shareBytes: 1,
      backend: 'cpu',
    });
    const { handlers = {}, services = [] } = work(trust);
    const control = memberService({
      self: () => trust.self.id,
      hello,
      linkStage: async () => {},
      runStage: (_order, { emit, signal }) => {
        emit({ progress: { phase: 'loading', fraction: 0, doneBytes: 0, totalBytes: 0 } });
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
      ...handlers,
    });
    const server = await WireServer.start({
      tls: trust.tls,
      host: '127.0.0.1',
      port: 0,
      services: [control, trust.service, ...services],
      admits: (id) => trust.admits(id),
    });
    guardServer(trust, server);
    member = new TrustMember({ trust, server, home, events, errors });
    return member;
  }

  get id(): string {
    return this.trust.self.id;
  }

  /** Joins, and introduces itself to those that are there, as a member does. */
  async join(token: string): Promise<void> {
    for (const contact of await this.trust.join(token)) await this.trust.syncWith(contact);
  }

  client(to: TrustMember): MemberClient {
    return new MemberClient({ address: to.server.address, member: to.id, tls: this.trust.tls });
  }

  /** Says hello to another member; rejects as the wire does. */
  async greet(to: TrustMember): Promise<HelloReply> {
    const client = this.client(to);
    try {
      return await client.hello({ wireVersion: 1, build: 'b' });
    } finally {
      client.close();
    }
  }

  async stop(): Promise<void> {
    if (!this.reachable) return;
    this.reachable = false;
    await this.trust.close();
    await this.server.close();
  }
}
