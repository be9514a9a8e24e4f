import { join } from 'node:path';
import { cutStage } from '../../electron/gguf/cutStage.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import { wireSampling } from '../../electron/pipeline/sampling/wireSampling.ts';
import type { HostError } from '../../electron/stage/hostError.ts';
import type { NativeLoadOptions } from '../../electron/stage/nativeAddon.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { StageClient } from '../../electron/stage/stageClient.ts';
import { followRing } from '../../electron/wire/followRing.ts';
import { type Run, RunEmbed, type StepFrame } from '../../electron/wire/generated/roomful/v1/ring.ts';
import type { RingLink } from '../../electron/wire/ringLink.ts';
import type { RingOutlet } from '../../electron/wire/ringOutlet.ts';
import { RingServer } from '../../electron/wire/ringServer.ts';
import type { LinkLost } from '../../electron/wire/wireError.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';
import { stepFrame } from './stepFrame.ts';
import type { TestMember, TestPool } from './testPool.ts';

export const EPOCH = { counter: 7, coordinator: 'test' };
export const PIPELINE = 'pipeline';

/** What a stage told its parent, in order. */
export type StageNews = { stage: number; what: 'upstream' | 'downstream' | 'ended' | 'lost'; error?: HostError };

export interface TestRingOptions {
  pool: TestPool;
  modelPath: string;
  /** First layer of each stage; [0] for the whole model. */
  cuts: number[];
  exact: boolean;
  batch?: number;
  slots?: number;
}

/** A ring of real stage hosts, each of a member of its own, with the coordinator's part played by the test. */
export class TestRing {
  readonly stages: StageClient[] = [];
  readonly news: StageNews[] = [];
  readonly outletLost: LinkLost[] = [];
  readonly coordinator: TestMember;
  readonly members: TestMember[] = [];
  readonly addresses: string[] = [];
  embeddingLength = 0;
  readonly #exact: boolean;
  #server: WireServer | null = null;
  #outlet: RingOutlet | null = null;
  #link: RingLink | null = null;
  #step = 0;

  private constructor(coordinator: TestMember, exact: boolean) {
    this.coordinator = coordinator;
    this.#exact = exact;
  }

  static async form(options: TestRingOptions): Promise<TestRing> {
    const { pool, cuts } = options;
    const ring = new TestRing(await pool.member(), options.exact);
    try {
      for (const _ of cuts) ring.members.push(await pool.member());
      const loads = await stageFiles(options);
      for (const [position, load] of loads.entries()) await ring.#start(position, load);
      await ring.#connect();
      return ring;
    } catch (error) {
      await ring.close();
      throw error;
    }
  }

  get outlet(): RingOutlet {
    if (this.#outlet === null) throw new Error('not formed');
    return this.#outlet;
  }

  get link(): RingLink {
    if (this.#link === null) throw new Error('not formed');
    return this.#link;
  }

  /** Sends one step round the ring. */
  async step(runs: Run[], fields: Partial<StepFrame> = {}): Promise<StepFrame> {
    this.#step += 1;
    const frame = { pipeline: PIPELINE, epoch: EPOCH, step: this.#step, runs, exact: this.#exact, ...fields };
    await this.outlet.send(stepFrame(frame));
    const { value, done } = await this.link.next();
    if (done) throw new Error('the ring has ended');
    return value;
  }

  /** Prefills `prompt` in chunks, then decodes greedily until `end` or `limit` tokens. */
  async generate(
    prompt: Int32Array,
    end: ReadonlySet<number>,
    slot: { slot: number; generation: number },
    limit = 200,
  ) {
    const sampling = wireSampling(greedySampling, prompt.length);
    const tokens: number[] = [];
    let committed: number | undefined;
    for (let start = 0; start < prompt.length; start += 16) {
      const chunk = [...prompt.subarray(start, start + 16)];
      const last = start + chunk.length === prompt.length;
      const frame = await this.step([
        {
          ...slot,
          start,
          tokens: chunk,
          sampling,
          sample: last,
          drafts: 0,
          embed: RunEmbed.RUN_EMBED_NONE,
          copyFrom: undefined,
        },
      ]);
      committed = tokenOf(frame);
    }
    while (committed !== undefined && !end.has(committed) && tokens.length < limit) {
      tokens.push(committed);
      const start = prompt.length + tokens.length - 1;
      committed = tokenOf(
        await this.step([
          {
            ...slot,
            start,
            tokens: [committed],
            sampling: undefined,
            sample: true,
            drafts: 0,
            embed: RunEmbed.RUN_EMBED_NONE,
            copyFrom: undefined,
          },
        ]),
      );
    }
    return tokens;
  }

  async close(): Promise<void> {
    await this.#outlet?.close();
    this.#link?.close();
    await Promise.all(this.stages.map((stage) => stage.close()));
    await this.#server?.close();
  }

  async #start(position: number, load: NativeLoadOptions): Promise<void> {
    const tell = (what: StageNews['what'], error?: HostError): void => {
      this.news.push(error === undefined ? { stage: position, what } : { stage: position, what, error });
    };
    const stage = await StageClient.start(nodeLauncher, {
      onLinkLost: (side) => tell(side),
      onEnded: () => tell('ended'),
      onLost: (error) => tell('lost', error),
    });
    this.stages.push(stage);
    const { tls } = this.#member(position);
    const follower = (this.members[position + 1] ?? this.coordinator).id;
    const place = { pipeline: PIPELINE, epoch: EPOCH, position, follower };
    const loaded = await stage.load(load, { ...place, host: '127.0.0.1', tls });
    this.addresses.push(loaded.address);
    this.embeddingLength = loaded.embeddingLength;
  }

  async #connect(): Promise<void> {
    const server = new RingServer();
    const { tls } = this.coordinator;
    this.#server = await WireServer.start({ tls, host: '127.0.0.1', port: 0, services: [server.service] });
    const place = { pipeline: PIPELINE, epoch: EPOCH, position: 0, follower: this.#member(0).id };
    this.#outlet = server.open(place, (error) => this.outletLost.push(error));
    let predecessor = { address: this.#server.address, member: this.coordinator.id };
    for (const [position, stage] of this.stages.entries()) {
      await stage.link(predecessor);
      predecessor = { address: this.addresses[position] ?? '', member: this.#member(position).id };
    }
    const position = this.stages.length;
    this.#link = await followRing({ ...predecessor, tls, pipeline: PIPELINE, epoch: EPOCH, position });
  }

  #member(position: number): TestMember {
    const member = this.members[position];
    if (member === undefined) throw new Error(`no stage ${position}`);
    return member;
  }
}

function tokenOf(frame: StepFrame): number | undefined {
  if (frame.failure !== undefined) throw new Error(`${frame.failure.kind}: ${frame.failure.message}`);
  return frame.committed[0]?.tokens[0];
}

async function stageFiles({
  pool,
  modelPath,
  cuts,
  batch = 64,
  slots = 4,
}: TestRingOptions): Promise<NativeLoadOptions[]> {
  const model = await openModel(modelPath);
  const common = {
    contextLength: 1024 * slots,
    slots,
    batch,
    threads: 1,
    gpuLayers: 0,
    device: null,
    kvType: 'f16',
    maxOutputs: slots,
  } as const;
  if (cuts.length === 1) {
    return [{ ...common, path: modelPath, role: 'whole', layers: model.layers, embedding: null, vocabulary: null }];
  }
  const loads: NativeLoadOptions[] = [];
  for (const [index, start] of cuts.entries()) {
    const end = cuts[index + 1] ?? model.layers;
    const file = await cutStage(model, { start, end }, join(pool.home, `stage-${start}-${end}.gguf`));
    const { path, role, layers, embedding, vocabulary } = file;
    loads.push({ ...common, path, role, layers, embedding, vocabulary });
  }
  return loads;
}
