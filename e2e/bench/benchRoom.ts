import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChildMember, startChildMember } from '../../electron/cli/childMember.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { type Member, startMember } from '../../electron/member.ts';
import { servingSizes } from '../../electron/pipeline/placement/servingSizes.ts';
import type { ServingModel } from '../../electron/pipeline/serving/modelServing.ts';
import type { ServeRequest } from '../../electron/pipeline/serving/serveEvents.ts';
import { MOST_DRAFTS } from '../../electron/pipeline/speculation/mostDrafts.ts';
import type { ModelShape } from '../../electron/planner/modelShape.ts';
import { memoryToShare } from '../../electron/planner/stageBytes.ts';
import { foundPool } from '../../electron/pool/foundPool.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { stageHostsOf } from '../testing/stageHosts.ts';
import { pinToCore } from './pinToCore.ts';

type Asked = Pick<ServeRequest, 'draftPath' | 'mostDrafts' | 'alwaysDraft' | 'mostAhead' | 'exact' | 'chunk'>;

export interface BenchRoom {
  model: ServingModel;
  lead: Member;
  /** Serves the model anew in another way. */
  serve(request: Asked): Promise<ServingModel>;
  /** Process ids of the stage hosts, by stage (Linux). */
  stageHosts(): number[];
  close(): Promise<void>;
}

/**
 * A pool of child members, one stage with one thread on each, led by this process, which holds none. The cuts even out
 * the bytes that a token reads on each stage, the head counted in.
 */
export async function startBenchRoom(options: {
  modelPath: string;
  stages: number;
  slots: number;
  contextLength: number;
  route?: (address: string) => Promise<string>;
  /** Each stage on a core of its own, where this system can say so. */
  pinned?: boolean;
  /** Whether there must be room for what checks drafts. */
  drafts?: boolean;
  /** What else is asked for. */
  request?: Asked;
}): Promise<BenchRoom> {
  const { modelPath, stages, slots, contextLength, route, pinned = false, drafts = false, request = {} } = options;
  const home = await mkdtemp(join(tmpdir(), 'roomful-bench-'));
  const names = Array.from({ length: stages }, (_, index) => `stage-${index}`);
  const homes = names.map((name) => join(home, name));
  await foundPool(join(home, 'pool'), [join(home, 'lead'), ...homes]);
  const shape = modelShape(await openModel(modelPath));
  const sizes = servingSizes(shape, { slots, contextLength, chunk: request.chunk });
  const bounds = evenBounds(shape, stages);
  const members: ChildMember[] = [];
  for (const [index, name] of names.entries()) {
    const range = { start: bounds[index] ?? 0, end: bounds[index + 1] ?? shape.layers.length };
    const memoryBytes = memoryToShare(
      shape,
      range,
      { ...sizes, draft: { bytes: 0, tokens: drafts ? MOST_DRAFTS : 0 } },
      { leads: false, deviceClass: 'cpu' },
    );
    members.push(await startChildMember({ home: homes[index] ?? home, name, memoryBytes, threads: 1 }));
  }
  const lead = await startMember({
    home: join(home, 'lead'),
    name: 'lead',
    memoryBytes: 1,
    threads: 1,
    launcher: nodeLauncher,
    ...(route && { route }),
  });
  const close = async (): Promise<void> => {
    await lead.close();
    await Promise.all(members.map((member) => member.stop()));
    await rm(home, { recursive: true, force: true });
  };
  try {
    const places = members.map(({ address, id }) => ({ address, id }));
    const stageHosts = (): number[] =>
      members.flatMap(({ process: { pid = 0 } }) => stageHostsOf(pid).map((host) => host.pid));
    const serve = async (asked: Asked): Promise<ServingModel> => {
      for (const { id } of lead.models.list()) await lead.models.stop(id);
      const order = { ...asked, modelPath, members: places, slots, contextLength };
      const model = await lead.models.serve(order, () => {}, new AbortController().signal);
      if (model.placement.length !== stages) {
        throw new Error(`${stages} stages were wanted, not ${model.placement.length}.`);
      }
      if (pinned) for (const [index, pid] of stageHosts().entries()) pinToCore(pid, index);
      return model;
    };
    return { model: await serve(request), lead, serve, stageHosts, close };
  } catch (cause) {
    await close();
    throw cause;
  }
}

/** First layers of the stages, and the number of layers: the largest stage reads as little as can be. */
function evenBounds(shape: ModelShape, stages: number): number[] {
  const layers = shape.layers.length;
  const read = (start: number, end: number): number =>
    shape.layers
      .slice(start, end)
      .reduce((sum, layer) => sum + layer.weightBytes, end === layers ? shape.outputBytes : 0);
  const best = (start: number, left: number): { bounds: number[]; most: number } => {
    if (left === 1) return { bounds: [start, layers], most: read(start, layers) };
    let chosen = { bounds: [start], most: Number.POSITIVE_INFINITY };
    for (let end = start + 1; end <= layers - left + 1; end += 1) {
      const rest = best(end, left - 1);
      const most = Math.max(read(start, end), rest.most);
      if (most < chosen.most) chosen = { bounds: [start, ...rest.bounds], most };
    }
    return chosen;
  };
  return best(0, stages).bounds;
}
