import type { Member } from '../../electron/member.ts';
import type { ServingModel } from '../../electron/pipeline/serving/modelServing.ts';
import type { MemberPlace, ServeRequest } from '../../electron/pipeline/serving/serveEvents.ts';
import type { ModelShape } from '../../electron/planner/modelShape.ts';
import { sharesOf, TestRoom } from './testRoom.ts';

/** A room with a group of members for each number of stages, so that a model can be served through one after the other. */
export class StagedRoom {
  readonly #room: TestRoom;
  readonly #groups: ReadonlyMap<number, readonly MemberPlace[]>;
  readonly #sizes: Pick<ServeRequest, 'contextLength' | 'slots'>;

  private constructor(
    room: TestRoom,
    groups: ReadonlyMap<number, readonly MemberPlace[]>,
    sizes: Pick<ServeRequest, 'contextLength' | 'slots'>,
  ) {
    this.#room = room;
    this.#groups = groups;
    this.#sizes = sizes;
  }

  /** The lead takes part in the largest group. `sizes` is what the models will be served with. */
  static async open(
    shapes: readonly ModelShape[],
    stages: readonly number[],
    sizes: { contextLength: number; slots: number },
  ): Promise<StagedRoom> {
    const largestFirst = [...stages].sort((a, b) => b - a);
    const shares = largestFirst.map((count, index) => sharesOf(shapes, count, { ...sizes, leads: index === 0 }));
    const room = await TestRoom.open(shares.flat());
    const groups = new Map<number, readonly MemberPlace[]>();
    let first = 0;
    for (const count of largestFirst) {
      groups.set(count, room.members.slice(first, first + count));
      first += count;
    }
    return new StagedRoom(room, groups, sizes);
  }

  get lead(): Member {
    return this.#room.lead;
  }

  /** Serves a model through so many stages. */
  async serve(stages: number, request: { modelPath: string; exact: boolean }): Promise<ServingModel> {
    const members = this.#groups.get(stages) ?? [];
    const model = await this.#room.serve({ ...this.#sizes, ...request, members });
    if (model.placement.length !== stages) {
      throw new Error(`${stages} stages were wanted, not ${model.placement.length}.`);
    }
    return model;
  }

  close(): Promise<void> {
    return this.#room.close();
  }
}
