import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChildMember, startChildMember } from '../../electron/cli/childMember.ts';
import { type DemoShareOptions, demoShares } from '../../electron/cli/demoShares.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { type Member, startMember } from '../../electron/member.ts';
import type { ServingModel } from '../../electron/pipeline/serving/modelServing.ts';
import type { MemberPlace, ServeRequest } from '../../electron/pipeline/serving/serveEvents.ts';
import type { ModelShape } from '../../electron/planner/modelShape.ts';
import { foundPool } from '../../electron/pool/foundPool.ts';
import type { HostLauncher } from '../../electron/stage/hostLauncher.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';

export interface RoomMember {
  /** Bytes of memory that it shares. */
  memoryBytes: number;
  /** Added to the environment of a member that is a process of its own. */
  env?: Readonly<Record<string, string>>;
  /** Makes it a member in this process, whose hosts it starts. The lead is one in any case. */
  launcher?: HostLauncher;
  /** The way from this member, if it lives in this process, to others. */
  route?: (address: string) => Promise<string>;
}

/**
 * A pool on this machine: real members with TLS, stage hosts and a gateway each, one thread per stage. The first leads and
 * lives in this process, so that a test sees token ids; the others are processes of their own unless a test wants them
 * here.
 */
export class TestRoom {
  readonly lead: Member;
  /** The members that are processes of their own, in order. */
  readonly others: readonly ChildMember[];
  /** All members, the lead first, as a ServeRequest lists them. */
  readonly members: readonly MemberPlace[];
  /** Data folders, the lead's first. */
  readonly homes: readonly string[];
  readonly #close: () => Promise<void>;

  private constructor(
    homes: readonly string[],
    started: readonly (Member | ChildMember)[],
    close: () => Promise<void>,
  ) {
    const [lead, ...rest] = started;
    if (lead === undefined || !isHere(lead)) throw new Error('The first member of a room lives in this process.');
    this.lead = lead;
    this.others = rest.filter((member): member is ChildMember => !isHere(member));
    this.members = started.map(({ address, id }) => ({ address, id }));
    this.homes = homes;
    this.#close = close;
  }

  static async open(members: readonly RoomMember[]): Promise<TestRoom> {
    const home = await mkdtemp(join(tmpdir(), 'roomful-room-'));
    const names = members.map((_, index) => `member-${index}`);
    const homes = names.map((name) => join(home, name));
    const started: (Member | ChildMember)[] = [];
    const close = async (): Promise<void> => {
      await Promise.all(started.map((member) => (isHere(member) ? member.close() : member.stop())));
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    };
    try {
      await foundPool(join(home, 'pool'), homes);
      // One after the other: together they would only keep each other from the cores.
      for (const [index, { memoryBytes, env = {}, launcher, route }] of members.entries()) {
        const options = { home: homes[index] ?? home, name: names[index] ?? '', memoryBytes, threads: 1 };
        const here = index === 0 || launcher !== undefined;
        started.push(
          here
            ? await startMember({ ...options, launcher: launcher ?? nodeLauncher, ...(route && { route }) })
            : await startChildMember({ ...options, env }),
        );
      }
      return new TestRoom(homes, started, close);
    } catch (cause) {
      await close();
      throw cause;
    }
  }

  /** A room in which this model needs all of so many members. */
  static async forModel(modelPath: string, members: number, options: DemoShareOptions = {}): Promise<TestRoom> {
    const shape = modelShape(await openModel(modelPath));
    return TestRoom.open(sharesOf([shape], members, options));
  }

  /** Serves a model with the lead as its coordinator, over all members or those that are named. */
  serve(request: ServeRequest): Promise<ServingModel> {
    return this.lead.models.serve({ members: this.members, ...request }, () => {}, new AbortController().signal);
  }

  /** Port of the lead's gateway. */
  get port(): number {
    return Number(new URL(this.lead.gateway).port);
  }

  /** Ends every member and removes what they wrote. */
  close(): Promise<void> {
    return this.#close();
  }
}

function isHere(member: Member | ChildMember): member is Member {
  return 'models' in member;
}

/** Memory amounts with which every one of the models needs all members, where those of one need no more than the others. */
export function sharesOf(shapes: readonly ModelShape[], members: number, options: DemoShareOptions = {}): RoomMember[] {
  const shares = shapes.map((shape) => demoShares(shape, members, options));
  return Array.from({ length: members }, (_, index) => ({
    memoryBytes: Math.max(...shares.map((share) => share[index] ?? 0)),
  }));
}
