import { randomBytes } from 'node:crypto';
import { modelId } from '../../gguf/modelId.ts';
import type { Force, KvType, PlainRam, Policy } from '../../planner/planOptions.ts';
import type { Epoch } from '../../wire/generated/roomful/v1/ring.ts';
import { ServingClient } from '../../wire/servingClient.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import type { PipelineOrder } from '../forming/drivenPipeline.ts';
import type { ModelFiles, ModelHolder, OpenedModel } from '../forming/modelFiles.ts';
import type { PipelineHost } from '../forming/pipelineHost.ts';
import { StageTooLarge } from '../forming/stageTooLarge.ts';
import { isLive, type PipelineReport, type PipelineState, type PlannedPlace } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';
import { type FoundCandidate, findCandidates } from '../placement/findCandidates.ts';
import { agreeing, everyHolder, findHolders } from '../placement/findHolders.ts';
import { locateModel } from '../placement/locateModel.ts';
import type { MemoryTruthFile } from '../placement/memoryTruthFile.ts';
import { driverOf, placeDrafted } from '../placement/placeDrafted.ts';
import { placePipelines } from '../placement/placePipelines.ts';
import type { ServingRoom } from '../placement/servingRoom.ts';
import { type ServingSizes, servingSizes } from '../placement/servingSizes.ts';
import { profiledOf } from '../placement/speedTruth.ts';
import type { SpeedTruthFile } from '../placement/speedTruthFile.ts';
import { draftBytes } from '../speculation/draftBytes.ts';
import { refuseDraft } from '../speculation/refuseDraft.ts';
import type { PoolPipeline } from './modelRouter.ts';
import type { PoolPipelines } from './poolPipelines.ts';
import { refuseEmbedding } from './refuseEmbedding.ts';
import { remoteError } from './remoteError.ts';
import type { MemberPlace } from './serveEvents.ts';
import { type Told, untilReady } from './serveNews.ts';

/** What is to be served, as the member that leads is asked. */
export interface LeadOrder {
  /** Content id, or what people call the model. */
  model: string;
  /** Members that have its file, as far as is known. */
  holders: readonly ModelHolder[];
  members: readonly string[] | null;
  places: readonly MemberPlace[] | null;
  force: Force | undefined;
  policy: Policy | undefined;
  plainRam: PlainRam | undefined;
  /** Tokens of one request. */
  contextLength: number | undefined;
  slots: number | undefined;
  replicas: number;
  kvType: KvType | undefined;
  exact: boolean;
  aliases: readonly string[];
  /** Content id, or what people call the model that drafts. */
  draft: string | undefined;
  /** See `ServeRequest`. */
  mostDrafts: number;
  alwaysDraft: boolean;
  mostAhead: number;
  chunk: number | undefined;
}

export interface ModelLeadOptions {
  /** This member's id. */
  member(): string;
  tls(): TlsMaterial;
  build: string;
  wireVersion: number;
  /** The term in which this member leads; rejects where it does not. */
  epoch(): Promise<Epoch>;
  files: ModelFiles;
  room: ServingRoom;
  host: PipelineHost;
  others: PoolPipelines;
  /** What stages have taken beside the plan. */
  memory: Pick<MemoryTruthFile, 'extraBytes' | 'learn'>;
  /** How fast stages have run beside what their members' profiles say. */
  speeds: Pick<SpeedTruthFile, 'speeds'>;
  onProblem: (cause: unknown) => void;
  /** Every pipeline that is known. */
  pipelines(): PoolPipeline[];
  /** Called after every change of `reports`. */
  onChange: () => void;
}

export type Ready = Extract<Told, { type: 'ready' }>;

/** A model that is being planned, or was and could not be served. */
interface Coming {
  report: PipelineReport;
  /** Of those that other members are to drive, until they say so themselves. */
  handed: PipelineReport[];
  isPlanned: boolean;
  /** Because its model is there already, which is no failure to show to everybody. */
  isRefused: boolean;
  abort: AbortController;
  settled: Promise<void>;
}

/** What a plan is made from; `mostBytes` holds what members were found to have, where that was less than they offered. */
interface Plan {
  order: LeadOrder;
  /** Content id. */
  model: string;
  /** What clients call it. */
  id: string;
  epoch: Epoch;
  opened: OpenedModel;
  /** The model that drafts. */
  draft: OpenedModel | null;
  sizes: ServingSizes;
  candidates: readonly FoundCandidate[];
  ordered: boolean;
  notes: readonly string[];
  mostBytes: Map<string, number>;
}

/** Plans of one model, each with what the one before has found. */
const MOST_ATTEMPTS = 4;
const LESS_ELSEWHERE = 0.9;
/** How long a plan that came to nothing is still shown, ms. */
const FAILED_SHOWN_MS = 10 * 60_000;

/**
 * The part of serving that is the leader's: plans over the members that live, and has the pipelines formed. One that lies on
 * one other member alone is driven by that member, so that no token of it needs a trip through this one.
 */
export class ModelLead {
  readonly #options: ModelLeadOptions;
  readonly #coming = new Set<Coming>();
  #closed = false;

  constructor(options: ModelLeadOptions) {
    this.#options = options;
  }

  /** Of what is being planned, and of what could not be. */
  reports(): PipelineReport[] {
    return [...this.#coming].flatMap(({ report, handed }) => (handed.length > 0 ? handed : [report]));
  }

  /**
   * Plans, forms and warms; resolves when all pipelines serve, or some of them, which is told as a note. Rejects with one
   * plain line, or the signal's reason, and leaves nothing behind.
   */
  serve(order: LeadOrder, onTold: (told: Told) => void, signal: AbortSignal): Promise<Ready> {
    if (this.#closed) return Promise.reject(new PipelineError('Closed', 'The member is closing.'));
    const abort = new AbortController();
    const begun = { isPlanned: false, isRefused: false, settled: Promise.resolve() };
    const coming: Coming = { report: planning(order), handed: [], abort, ...begun };
    this.#coming.add(coming);
    const serving = this.#serve(coming, order, onTold, AbortSignal.any([signal, abort.signal]));
    coming.settled = serving.then(
      () => {
        this.#coming.delete(coming);
      },
      (cause: unknown) => this.#failed(coming, cause, signal.aborted || abort.signal.aborted),
    );
    this.#options.onChange();
    return serving;
  }

  /** Takes back what comes up of a model, and forgets what failed; answers how many plans that were. */
  async stop(id: string): Promise<number> {
    const ending = [...this.#coming].filter(({ report }) => report.modelId === id);
    for (const { abort } of ending) abort.abort(new PipelineError('Closed', `${id} has been stopped.`));
    await Promise.all(ending.map(({ settled }) => settled));
    this.#forget(id);
    return ending.length;
  }

  /** Takes back what comes up over a member. */
  dropMember(member: string): void {
    for (const { handed, report, abort } of this.#coming) {
      const place = [report, ...handed].flatMap(({ stages }) => stages).find((stage) => stage.member === member);
      if (place !== undefined) {
        abort.abort(new PipelineError('FormFailed', `${place.name} was removed from the pool.`));
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { abort } of this.#coming) abort.abort(new PipelineError('Closed', 'The member is closing.'));
    await Promise.all([...this.#coming].map(({ settled }) => settled));
    this.#coming.clear();
  }

  async #serve(coming: Coming, order: LeadOrder, onTold: (told: Told) => void, signal: AbortSignal): Promise<Ready> {
    const { files, room, host, build, wireVersion } = this.#options;
    const epoch = await this.#options.epoch();
    onTold({ type: 'state', pipeline: coming.report.id, state: 'planning' });
    const { model, holders: located } = await this.#locate(order);
    const { same: holders, others: differing } = await this.#everyHolder(model, located);
    const opened = await files.open(model, holders, signal);
    const sizes = servingSizes(opened.shape, order);
    refuseEmbedding(opened, order, sizes);
    const id = modelId(opened.summary);
    coming.report = { ...coming.report, model, modelId: id };
    this.#refuseTwice(id, coming);
    // What was lost stays until the model serves again: clients are told why it does not.
    await host.forgetVain(id);
    this.#forget(id, coming);

    const draft = order.draft === undefined ? null : await this.#openDraft(order.draft, signal);
    if (draft !== null) refuseDraft(opened, draft);
    const asked = { tls: this.#options.tls(), wireVersion, build, signal };
    const { candidates, ordered, notes } = await findCandidates(room, order, asked);
    for (const { member } of differing) notes.push(this.#differs(member, model));
    const plan: Plan = {
      order,
      model,
      id,
      epoch,
      opened,
      draft,
      sizes,
      candidates,
      ordered,
      notes,
      mostBytes: new Map(),
    };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#planAndForm(coming, plan, onTold, signal);
      } catch (cause) {
        if (!(cause instanceof StageTooLarge) || attempt === MOST_ATTEMPTS || signal.aborted) throw cause;
        plan.mostBytes.set(cause.member, cause.freeBytes);
        onTold({ type: 'note', message: `${cause.message} The model is planned anew with what fits there.` });
        await host.forgetVain(id);
      }
    }
  }

  /** Rejects with StageTooLarge where a member has less room than it had offered. */
  async #planAndForm(
    coming: Coming,
    { order, model, id, epoch, opened, draft, sizes, candidates, ordered, notes, mostBytes }: Plan,
    onTold: (told: Told) => void,
    signal: AbortSignal,
  ): Promise<Ready> {
    const { build, memory, speeds } = this.#options;
    const { force, policy, plainRam, exact, replicas, aliases, mostDrafts, alwaysDraft, mostAhead, chunk } = order;
    const taken = this.#taken();
    const stageSpeeds = speeds.speeds(
      model,
      candidates.map(({ id, facts }) => profiledOf(id, facts)),
    );
    const offers = candidates.map((candidate) => ({
      ...candidate,
      takenBytes: taken.get(candidate.id) ?? 0,
      stageExtraBytes: memory.extraBytes({ model, member: candidate.id, backend: candidate.facts.backend }),
      stageSpeed: stageSpeeds.get(candidate.id) ?? 1,
      mostBytes: mostBytes.get(candidate.id) ?? null,
    }));
    const how = {
      ...sizes,
      exact,
      force,
      policy,
      plainRam,
      replicas,
      ordered,
      coordinator: this.#options.member(),
      build,
    };
    const drafting = draft && { model: draft.id, holders: draft.holders, bytes: draftBytes(draft.shape, sizes) };
    const { pipelines, explain } =
      drafting === null
        ? placePipelines(offers, opened.shape, how)
        : placeDrafted(offers, opened.shape, drafting.bytes, how);
    const orders = pipelines.map(
      ({ stages, predicted }, index): PipelineOrder => ({
        id: index === 0 ? coming.report.id : newId(),
        epoch,
        model,
        holders: opened.holders,
        modelId: id,
        aliases,
        stages,
        predicted,
        ...sizes,
        exact,
        draft: drafting,
        mostDrafts,
        alwaysDraft,
        mostAhead,
        fixedChunk: chunk !== undefined,
      }),
    );
    coming.isPlanned = true;
    coming.handed = orders.map(({ id: pipeline, stages, predicted }) => {
      return { ...coming.report, id: pipeline, stages: [...stages], predicted, draftBytes: drafting?.bytes ?? 0 };
    });
    this.#options.onChange();
    for (const [index, { stages }] of orders.entries()) {
      onTold({ type: 'planned', stages: [...stages], explain: index === 0 ? [...notes, ...explain] : [] });
    }

    const formed = await Promise.allSettled(orders.map((each) => this.#form(coming, each, onTold, signal)));
    const ready = orders.filter((_, index) => formed[index]?.status === 'fulfilled');
    const failures = formed.flatMap((each) => (each.status === 'rejected' ? [messageOf(each.reason)] : []));
    if (signal.aborted) {
      await Promise.allSettled(ready.map((each) => this.#takeBack(each)));
      throw signal.reason;
    }
    if (ready.length === 0) {
      const reasons = formed.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
      throw reasons.find((reason) => reason instanceof StageTooLarge) ?? reasons[0];
    }
    this.#learn(ready, candidates);
    for (const message of failures)
      onTold({ type: 'note', message: `One of the pipelines does not serve: ${message}` });
    const contextLength = Math.floor(sizes.contextLength / sizes.slots);
    return { type: 'ready', model: id, contextLength, pipelines: ready.map((each) => each.id) };
  }

  /** Keeps what stages have really taken, for later plans. */
  #learn(ready: readonly PipelineOrder[], candidates: readonly FoundCandidate[]): void {
    const { memory, pipelines, onProblem } = this.#options;
    const reports = new Map(pipelines().map(({ report }) => [report.id, report]));
    for (const { id, model } of ready) {
      for (const { member, bytes, takenBytes } of reports.get(id)?.stages ?? []) {
        const backend = candidates.find((candidate) => candidate.id === member)?.facts.backend;
        if (takenBytes === undefined || backend === undefined) continue;
        memory.learn({ model, member, backend, plannedBytes: bytes, takenBytes }).catch(onProblem);
      }
    }
  }

  /** Ends a pipeline that serves already while nobody waits for its model any more. */
  async #takeBack(order: PipelineOrder): Promise<void> {
    const { modelId: id } = order;
    const place = this.#driverElsewhere(order);
    if (place === null) {
      await this.#options.host.stop(id, 0);
      return;
    }
    const client = new ServingClient({ address: place.address, member: place.member, tls: this.#options.tls() });
    try {
      await client.stop({ modelId: id, drainMs: 0, forget: false });
    } finally {
      client.close();
    }
  }

  /** The other member that holds a model alone; null for a pipeline that this member drives. */
  #driverElsewhere({ stages }: PipelineOrder): PlannedPlace | null {
    const [place, ...more] = stages;
    return place === undefined || more.length > 0 || place.member === this.#options.member() ? null : place;
  }

  /** Forms a pipeline where it is to be driven. */
  async #form(coming: Coming, order: PipelineOrder, onTold: (told: Told) => void, signal: AbortSignal): Promise<void> {
    const { host, others, room } = this.#options;
    const place = this.#driverElsewhere(order);
    const onState = (state: PipelineState): void => onTold({ type: 'state', pipeline: order.id, state });
    if (place === null) {
      coming.handed = coming.handed.filter(({ id }) => id !== order.id);
      await host.drive(
        order,
        {
          onState,
          onStage: ({ stage: _, ...loading }) => onTold({ type: 'progress', ...loading }),
        },
        signal,
      );
      return;
    }
    const client = new ServingClient({ address: place.address, member: place.member, tls: this.#options.tls() });
    try {
      const { id: pipeline, holders, stages, aliases, draft, ...rest } = order;
      const news = client.drive(
        {
          pipeline,
          ...rest,
          holders: [...holders],
          stages: [...stages],
          aliases: [...aliases],
          draft: draft === null ? undefined : { ...draft, holders: [...draft.holders] },
        },
        signal,
      );
      await untilReady(news, (told) => {
        if (told.type === 'state') this.#hand(coming, order.id, told.state);
        onTold(told);
      });
    } catch (cause) {
      const error = remoteError(cause, place.name);
      if (!(error instanceof PipelineError) || error.kind !== 'DoesNotFit') throw error;
      // How much is free there it has not said.
      const freeBytes = Math.floor(place.bytes * LESS_ELSEWHERE);
      throw new StageTooLarge(place, { freeBytes, neededBytes: place.bytes });
    } finally {
      client.close();
    }
    const known = room.members().some(({ id }) => id === place.member);
    if (!known) others.also({ id: place.member, name: place.name, address: place.address });
  }

  #hand(coming: Coming, id: string, state: PipelineState): void {
    coming.handed = coming.handed.map((each) => (each.id === id ? { ...each, state } : each));
    this.#options.onChange();
  }

  async #openDraft(called: string, signal: AbortSignal): Promise<OpenedModel> {
    const { model, holders } = await this.#locate({ model: called, holders: [] });
    return this.#options.files.open(model, holders, signal);
  }

  /** Whoever has the model, so that what one has damaged comes from another, and with which weights. */
  async #everyHolder(model: string, located: readonly ModelHolder[]): Promise<ReturnType<typeof agreeing>> {
    const { files, member } = this.#options;
    const own = await files.holds(model);
    const found = (await findHolders(model, this.#options)).flatMap((each) =>
      each.model === model ? [each.holder] : [],
    );
    const self = own && { member: member(), addresses: [], weights: own.weights };
    return agreeing(everyHolder(self, located, found));
  }

  #differs(member: string, model: string): string {
    const name = this.#options.room.members().find(({ id }) => id === member)?.name ?? member.slice(0, 8);
    return `The file of ${name} looks like this model (${model.slice(0, 8)}) but has other weights, so it is left out: verify it there.`;
  }

  /** Looks on this member's disk, and asks everyone. */
  async #locate({
    model,
    holders,
  }: Pick<LeadOrder, 'model' | 'holders'>): Promise<{ model: string; holders: readonly ModelHolder[] }> {
    if (holders.length > 0) return { model, holders };
    const found = await locateModel(model, this.#options);
    if (found === null) {
      throw new PipelineError('FormFailed', `No member has a model called ${model}. \`roomful models\` lists them.`);
    }
    // This member's own file is asked for its weights beside the others.
    return { model: found.model, holders: found.isHere ? [] : found.holders };
  }

  #refuseTwice(id: string, coming: Coming): void {
    const own = new Set([coming.report.id]);
    const same = this.#options.pipelines().find(({ report }) => {
      return report.modelId === id && isLive(report) && !own.has(report.id);
    });
    if (same === undefined) return;
    coming.isRefused = true;
    // Not known of one that is only being planned.
    const isAnother = same.report.model !== '' && same.report.model !== coming.report.model;
    const message = isAnother
      ? `Another model called ${id} (${same.report.model.slice(0, 8)}) is being served; stop it first.`
      : same.report.state === 'draining'
        ? `${id} is being stopped; try again when it has ended.`
        : `${id} is being served already; stop it first.`;
    throw new PipelineError('FormFailed', message);
  }

  /** Bytes that pipelines have, or are to get, by member. */
  #taken(): Map<string, number> {
    const taken = new Map<string, number>();
    for (const { report, driver } of this.#options.pipelines()) {
      if (!isLive(report)) continue;
      const drafts = driverOf(report.stages, driver.id);
      taken.set(drafts, (taken.get(drafts) ?? 0) + report.draftBytes);
      for (const { member, bytes } of report.stages) taken.set(member, (taken.get(member) ?? 0) + bytes);
    }
    return taken;
  }

  #failed(coming: Coming, cause: unknown, abandoned: boolean): void {
    if (abandoned || coming.isPlanned || coming.isRefused) {
      // What was formed shows its own failure; what nobody waits for any more needs none.
      this.#coming.delete(coming);
      this.#options.onChange();
      return;
    }
    coming.report = { ...coming.report, state: 'failed', failure: { kind: 'FormFailed', message: messageOf(cause) } };
    this.#options.onChange();
    const timer = setTimeout(() => {
      if (this.#coming.delete(coming)) this.#options.onChange();
    }, FAILED_SHOWN_MS);
    timer.unref();
  }

  #forget(id: string, but: Coming | null = null): void {
    for (const coming of this.#coming) {
      const { modelId: own, state } = coming.report;
      if (own === id && state === 'failed' && coming !== but) this.#coming.delete(coming);
    }
    this.#options.onChange();
  }
}

function planning({ model, aliases, slots }: LeadOrder): PipelineReport {
  return {
    id: newId(),
    model: '',
    modelId: model,
    aliases: [...aliases],
    state: 'planning',
    failure: null,
    stages: [],
    fraction: 0,
    contextLength: 0,
    slots: slots ?? 0,
    createdAt: 0,
    load: 0,
    tokensPerSecond: null,
    predicted: null,
    figures: null,
    draftBytes: 0,
  };
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function newId(): string {
  return randomBytes(8).toString('hex');
}
