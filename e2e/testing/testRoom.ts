import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChildMember, startChildMember } from '../../electron/cli/childMember.ts';
import { type DemoShareOptions, demoShares } from '../../electron/cli/demoShares.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { type Member, startMember } from '../../electron/member.ts';
import type { ServingModel } from '../../electron/pipeline/modelServing.ts';
import type { ServeRequest } from '../../electron/pipeline/serveEvents.ts';
import type { ModelShape } from '../../electron/planner/modelShape.ts';
import { foundPool } from '../../electron/pool/foundPool.ts';
import type { HostLauncher } from '../../electron/stage/hostLauncher.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';

export interface RoomMember {
  /** Bytes of memory that it shares. */
  memoryBytes: number;
  /** Added to its environment; not for the lead, which lives in this process. */
  env?: Readonly<Record<string, string>>;
}

/**
 * A pool on this machine: real members with TLS, stage hosts and a gateway each, one thread per stage. The first lives in
 * this process and leads, so that a test sees token ids; the others are processes of their own.
 */
export class TestRoom {
  readonly lead: Member;
  readonly others: readonly ChildMember[];
  /** Data folders, the lead's first. */
  readonly homes: readonly string[];
  readonly #home: string;

  private constructor(home: string, homes: readonly string[], lead: Member, others: readonly ChildMember[]) {
    this.#home = home;
    this.homes = homes;
    this.lead = lead;
    this.others = others;
  }

  /** `launcher` starts the hosts of the lead. */
  static async open(members: readonly RoomMember[], launcher: HostLauncher = nodeLauncher): Promise<TestRoom> {
    const home = await mkdtemp(join(tmpdir(), 'roomful-room-'));
    const names = members.map((_, index) => `member-${index}`);
    const homes = names.map((name) => join(home, name));
    const others: ChildMember[] = [];
    let lead: Member | null = null;
    try {
      await foundPool(join(home, 'pool'), homes);
      // One after the other: together they would only keep each other from the cores.
      for (const [index, { memoryBytes, env = {} }] of members.entries()) {
        const options = { home: homes[index] ?? home, name: names[index] ?? '', memoryBytes, threads: 1 };
        if (index === 0) lead = await startMember({ ...options, launcher });
        else others.push(await startChildMember({ ...options, env }));
      }
      if (lead === null) throw new Error('A room has at least one member.');
      return new TestRoom(home, homes, lead, others);
    } catch (cause) {
      await leave(home, lead, others);
      throw cause;
    }
  }

  /** A room in which this model needs all of so many members. */
  static async forModel(
    modelPath: string,
    members: number,
    options: DemoShareOptions & { launcher?: HostLauncher } = {},
  ): Promise<TestRoom> {
    const shape = modelShape(await openModel(modelPath));
    return TestRoom.open(sharesOf([shape], members, options), options.launcher);
  }

  /** All members, the lead first, as a ServeRequest lists them. */
  get members(): ServeRequest['members'] {
    return [this.lead, ...this.others].map(({ address, id }) => ({ address, id }));
  }

  /** Serves a model with the lead as its coordinator, over all members or those that are named. */
  serve(request: Omit<ServeRequest, 'members'> & Partial<ServeRequest>): Promise<ServingModel> {
    return this.lead.models.serve({ members: this.members, ...request }, () => {}, new AbortController().signal);
  }

  /** Port of the lead's gateway. */
  get port(): number {
    return Number(new URL(this.lead.gateway).port);
  }

  /** Ends every member and removes what they wrote. */
  close(): Promise<void> {
    return leave(this.#home, this.lead, this.others);
  }
}

async function leave(home: string, lead: Member | null, others: readonly ChildMember[]): Promise<void> {
  await lead?.close();
  await Promise.all(others.map((other) => other.stop()));
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
}

/** Memory amounts with which every one of the models needs all members, where those of one need no more than the others. */
export function sharesOf(shapes: readonly ModelShape[], members: number, options: DemoShareOptions = {}): RoomMember[] {
  const shares = shapes.map((shape) => demoShares(shape, members, options));
  return Array.from({ length: members }, (_, index) => ({
    memoryBytes: Math.max(...shares.map((share) => share[index] ?? 0)),
  }));
}
