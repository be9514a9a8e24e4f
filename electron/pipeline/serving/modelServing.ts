import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { PlacedStage } from '../../planner/placedStage.ts';
import type { EngineKeeper } from '../../stage/engineKeeper.ts';
import type { Epoch } from '../../wire/generated/roomful/v1/ring.ts';
import { ServingClient } from '../../wire/servingClient.ts';
import type { CheckedServeOrder } from '../../wire/servingOrders.ts';
import type { ServingHandlers } from '../../wire/servingServer.ts';
import { CallRefused } from '../../wire/wireError.ts';
import type { Coordinator, FormOptions } from '../forming/formPipeline.ts';
import type { ModelFiles, ModelHolder } from '../forming/modelFiles.ts';
import { type DrivenNumbers, PipelineHost } from '../forming/pipelineHost.ts';
import { VocabularyShelf } from '../forming/vocabularyShelf.ts';
import { encodeReport, isLive, type PipelineReport } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';
import { findHolders } from '../placement/findHolders.ts';
import { locateModel } from '../placement/locateModel.ts';
import type { MemoryTruthFile } from '../placement/memoryTruthFile.ts';
import type { ServingRoom } from '../placement/servingRoom.ts';
import { profiledOf } from '../placement/speedTruth.ts';
import type { SpeedTruthFile } from '../placement/speedTruthFile.ts';
import { MOST_AHEAD, MOST_DRAFTS } from '../speculation/mostDrafts.ts';
import type { DraftHost } from '../speculation/openDrafter.ts';
import { againRequest } from './againRequest.ts';
import type { HeldModel, HeldModels } from './heldModel.ts';
import type { KeptServes } from './keptServes.ts';
import { type LeadOrder, ModelLead, type Ready } from './modelLead.ts';
import { ModelRouter, type PoolPipeline } from './modelRouter.ts';
import { pipelineCalled } from './pipelineCalled.ts';
import { PoolPipelines } from './poolPipelines.ts';
import { remoteError } from './remoteError.ts';
import { answers } from './remoteGenerate.ts';
import { seenSpeeds } from './seenSpeeds.ts';
import type { ServedModel, ServedModels } from './servedModel.ts';
import type { ServeEvent, ServeRequest } from './serveEvents.ts';
import { encodeNews, eventOf, type Told, untilReady } from './serveNews.ts';
import { shareServes } from './shareServes.ts';

/** A model that serves, and where the layers of its first pipeline lie. */
export interface ServingModel extends ServedModel {
  readonly placement: readonly PlacedStage[];
  readonly pipelines: readonly string[];
}

export interface ModelServingOptions {
  coordinator: Coordinator;
  engine: Pick<EngineKeeper, 'openVocabulary'>;
  /** Folder for files that live as long as a model serves. */
  folder: string;
  build: string;
  wireVersion: number;
  /** The term in which this member leads; rejects where it does not. */
  epoch(): Promise<Epoch>;
  files: ModelFiles;
  /** What the other members are told that this one has. */
  held: HeldModels;
  /** What stages have taken beside the plan. */
  memory: Pick<MemoryTruthFile, 'extraBytes' | 'learn'>;
  /** How fast stages have run, anywhere in the pool, beside what their members' profiles say. */
  speeds: Pick<SpeedTruthFile, 'speeds' | 'learn'>;
  draftHost: DraftHost;
  /** What this member is to serve again after a restart. */
  kept: Pick<KeptServes, 'keep' | 'forget' | 'news' | 'learn' | 'list'>;
  room: ServingRoom;
  /** Called after every change of what serves anywhere in the pool, and of what models the other members have. */
  onChange?: () => void;
  /** Hears of what went wrong in the background and is tried again. */
  onProblem?: (cause: unknown) => void;
  route?: FormOptions['route'];
}

/** How long requests that run may take to end when their model is stopped, where nobody says otherwise, ms. */
const DRAIN_MS = 30_000;
/** A model that has come up elsewhere is to be there for this member's clients within this time, ms. */
const ARRIVE_MS = 30_000;
/** Whoever serves a model waits so long for the other members to have heard of it, ms. */
const AWAIT_MS = 5000;

/**
 * The models of the pool as this member sees them. Whatever is asked here works wherever the model runs: to serve one is the
 * leader's to plan, requests go to the member that drives a pipeline, and that one ends it.
 */
export class ModelServing implements ServedModels {
  readonly #options: ModelServingOptions;
  readonly #host: PipelineHost;
  readonly #lead: ModelLead;
  readonly #others: PoolPipelines;
  readonly #router: ModelRouter;
  readonly #listeners = new Set<() => void>();
  /** What pipelines were asked for with, by their ids. */
  readonly #asked = new Map<string, ServeRequest>();
  /** Ids of those that have failed and are not to be shown any more. */
  readonly #putAway = new Set<string>();

  constructor(options: ModelServingOptions) {
    this.#options = options;
    const { coordinator, engine, draftHost, folder, files, room, route, onProblem = () => {} } = options;
    const shelf = new VocabularyShelf(engine, join(folder, 'vocabularies'));
    const onChange = (): void => this.#changed();
    const common = { files, room, onChange, pipelines: () => this.pipelines() };
    this.#host = new PipelineHost({ coordinator, shelf, draftHost, ...common, ...(route && { route }) });
    this.#others = new PoolPipelines({ ...common, onProblem, tls: () => coordinator.tls });
    this.#lead = new ModelLead({
      ...options,
      ...common,
      onProblem,
      member: () => coordinator.member,
      tls: () => coordinator.tls,
      host: this.#host,
      others: this.#others,
    });
    this.#router = new ModelRouter({ ...common, host: this.#host, others: this.#others, shelf, onProblem });
  }

  /** The models that can be asked here now. */
  list(): ServedModel[] {
    return this.#router.list();
  }

  /** See ModelRouter. */
  find(id: string): ServedModel | undefined {
    return this.#router.find(id);
  }

  /** What the pipelines that this member drives have done. */
  numbers(): DrivenNumbers[] {
    return this.#host.numbers();
  }

  /** Every pipeline of the pool, those that come up and those that have failed included. */
  pipelines(): PoolPipeline[] {
    const all = this.#known();
    return all.filter((each) => !isOutlived(each, all) && !this.#putAway.has(each.report.id));
  }

  #known(): PoolPipeline[] {
    const self = this.#self();
    const known = new Map<string, PoolPipeline>();
    const add = (pipeline: PoolPipeline): void => {
      if (!known.has(pipeline.report.id)) known.set(pipeline.report.id, pipeline);
    };
    for (const report of this.#host.reports()) add({ report, driver: self });
    for (const { report, driver } of this.#others.all()) add({ report, driver: { ...driver, self: false } });
    for (const report of this.#lead.reports()) add({ report, driver: self });
    return [...known.values()];
  }

  /**
   * Serves a model as the member that leads plans it, and resolves when clients of this member can ask it. Rejects with one
   * plain line and leaves nothing behind; the signal takes everything back.
   */
  async serve(request: ServeRequest, onEvent: (event: ServeEvent) => void, signal: AbortSignal): Promise<ServingModel> {
    const { room, coordinator } = this.#options;
    const placements: PlacedStage[][] = [];
    const onTold = (told: Told): void => {
      if (told.type === 'state') this.#asked.set(told.pipeline, request);
      const event = eventOf(told);
      if (event.type === 'planned') placements.push(event.placement);
      onEvent(event);
    };
    const order = await this.#orderOf(request, signal);
    const leader = room.leader();
    if (leader === null) throw new PipelineError('FormFailed', 'No member leads the pool yet; try again in a moment.');
    const ready =
      leader === coordinator.member
        ? await this.#lead.serve(order, onTold, signal)
        : await this.#forward(leader, order, onTold, signal);
    const model = await this.#everywhere(ready, signal);
    await this.#keep(request, order, ready);
    onEvent({ type: 'ready', model: ready.model, contextLength: ready.contextLength });
    return { ...model, placement: placements[0] ?? [], pipelines: ready.pipelines };
  }

  /**
   * Ends a model on every member that drives it: no new requests, those that run may end within `drainMs`. One that comes up
   * is taken back. With `forget` no member that is there serves it again after a restart. Answers whether there was one.
   * Rejects where a member that drives it cannot be reached.
   */
  async stop(called: string, drainMs = DRAIN_MS, { forget = true } = {}): Promise<boolean> {
    const id = this.#idOf(called);
    const there = this.pipelines().filter(({ report }) => report.modelId === id && report.state !== 'stopped');
    const drivers = new Map(there.map(({ driver }) => [driver.id, driver]));
    const self = this.#self();
    const told = new Map(drivers).set(self.id, self);
    for (const { id: member, name, state } of forget ? this.#options.room.members() : []) {
      if (state === 'alive' && !told.has(member)) told.set(member, { id: member, name, self: false });
    }
    const ended = await Promise.all(
      [...told.values()].map(async ({ id: member, name, self: isSelf }) => {
        if (isSelf) return this.#stopHere(id, drainMs, forget);
        const client = this.#others.clientOf(member);
        if (client === null) return 0;
        return client.stop({ modelId: id, drainMs, forget }).catch((cause: unknown) => {
          if (drivers.has(member)) throw remoteError(cause, name);
          this.#options.onProblem?.(cause);
          return 0;
        });
      }),
    );
    return ended.some((count) => count > 0);
  }

  /** Serves the model of a pipeline that has ended as it was asked for, on those members of it that are there. See `serve`. */
  async serveAgain(id: string, signal: AbortSignal): Promise<ServingModel> {
    const { room, kept } = this.#options;
    const ended = this.#known().find(({ report }) => report.id === id)?.report;
    if (ended === undefined) throw new PipelineError('FormFailed', 'That has been put away; serve the model anew.');
    const request = this.#asked.get(id) ??
      kept.list().find(({ modelId }) => modelId === ended.modelId)?.request ?? { model: ended.model || ended.modelId };
    return this.serve(againRequest(request, room.members()), () => {}, signal);
  }

  /** Shows a pipeline that has failed no more, nowhere where this member drives it. Answers whether there was one. */
  async putAway(id: string): Promise<boolean> {
    const ended = this.#known().some(({ report }) => report.id === id && report.state === 'failed');
    if (!ended) return false;
    this.#putAway.add(id);
    this.#others.forgetPipeline(id);
    await this.#host.forgetPipeline(id);
    this.#changed();
    return true;
  }

  /** The other members that have the file of a model, by its content id, as far as they answer. */
  async holdersOf(model: string): Promise<ModelHolder[]> {
    const { room } = this.#options;
    return (await findHolders(model, { room, others: this.#others })).map(({ holder }) => holder);
  }

  /** How fast stages of a model are expected to run on the members of the pool, see speedsOf. */
  stageSpeeds(model: string): ReadonlyMap<string, number> {
    const { room, speeds } = this.#options;
    const profiled = room.members().flatMap(({ id, facts }) => (facts === null ? [] : [profiledOf(id, facts)]));
    return speeds.speeds(model, profiled);
  }

  /** The models whose files the other members have, by the name of each that is there. */
  heldElsewhere(): { holder: string; models: readonly HeldModel[] }[] {
    return this.#others.held();
  }

  /** Learns from the members that are there what is to be served again, and what was stopped while this one was away. */
  learnServes(): Promise<void> {
    const { kept, room, onProblem = () => {}, coordinator } = this.#options;
    return shareServes({ kept, room, others: this.#others, self: coordinator.member, onProblem });
  }

  /** Ends every model that has a stage on a member, or may get one there, because the member was removed from the pool. */
  async dropMember(member: string): Promise<void> {
    this.#lead.dropMember(member);
    await this.#host.dropMember(member);
  }

  /** Ends what this member drives and takes back what comes up. */
  async close(): Promise<void> {
    this.#others.close();
    await this.#lead.close();
    await this.#host.close();
    this.#router.close();
  }

  /** What the other members may ask. */
  handlers(): ServingHandlers {
    return {
      serve: async (order, { emit, signal }) => {
        const ready = await this.#lead.serve(leadOrder(order), (told) => emit(encodeNews(told)), signal);
        emit(encodeNews(ready));
      },
      drive: async (order, { emit, signal }) => {
        const told = (news: Told): void => emit(encodeNews(news));
        const { pipeline: id, draft = null, ...rest } = order;
        await this.#host.drive(
          { id, draft, ...rest },
          {
            onState: (state) => told({ type: 'state', pipeline: id, state }),
            onStage: ({ member, phase, fraction }) => told({ type: 'progress', member, phase, fraction }),
          },
          signal,
        );
        const contextLength = Math.floor(order.contextLength / order.slots);
        told({ type: 'ready', model: order.modelId, contextLength, pipelines: [id] });
      },
      stop: ({ modelId, drainMs, forget }) => this.#stopHere(modelId, drainMs, forget),
      pipelines: () => this.#ownReports().map(encodeReport),
      models: () => this.#options.held.list(),
      onPipelines: (listener) => {
        const { held } = this.#options;
        const own = (): string => JSON.stringify([this.#ownReports(), held.list()]);
        let last = own();
        // Not of what others say, or members would tell each other the same for ever.
        const look = (): void => {
          const now = own();
          if (now === last) return;
          last = now;
          listener();
        };
        const forgets = [this.#onChange(look), held.onChange(look)];
        return () => {
          for (const forget of forgets) forget();
        };
      },
      generate: (order, signal) => {
        const pipeline = this.#host.find(order.pipeline);
        if (pipeline !== undefined) return answers(pipeline, order, signal);
        throw new PipelineError('Closed', 'The model has been stopped.');
      },
      embed: async ({ pipeline: id, ...request }, signal) => {
        const pipeline = this.#host.find(id);
        if (pipeline !== undefined) return pipeline.embed(request, signal);
        throw new PipelineError('Closed', 'The model has been stopped.');
      },
      vocabulary: (id, signal) => {
        const text = this.#host.find(id)?.text;
        if (text) return createReadStream(text.path, { signal });
        throw new CallRefused('WrongPipeline', `Pipeline ${id} does not run here.`);
      },
      findModel: (model) => this.#options.files.holds(model),
      exchangeServes: async (theirs) => {
        const { kept, coordinator } = this.#options;
        await kept.learn(theirs, coordinator.member);
        return kept.news();
      },
      awaitModel: (model, pipelines) =>
        this.#arrival({ model, pipelines: [...pipelines] }, new AbortController().signal, AWAIT_MS).then(
          () => true,
          () => false,
        ),
    };
  }

  #self(): PoolPipeline['driver'] {
    const { room, coordinator } = this.#options;
    const own = room.members().find(({ self }) => self);
    return { id: coordinator.member, name: own?.name ?? coordinator.member, self: true };
  }

  #ownReports(): PipelineReport[] {
    return this.pipelines().flatMap(({ report, driver }) => (driver.self ? [report] : []));
  }

  #changed(): void {
    this.#learnSpeeds();
    this.#forgetOutlived();
    this.#forgetGone();
    this.#router.follow();
    for (const listener of [...this.#listeners]) listener();
    this.#options.onChange?.();
  }

  /** Whoever leads next plans by it too, so every member learns, from whatever is driven by whom. */
  #learnSpeeds(): void {
    const { room, speeds, onProblem = () => {} } = this.#options;
    const reports = this.#known().flatMap(({ report }) => (report.state === 'serving' ? [report] : []));
    if (!reports.some(({ figures }) => figures?.stages.some(({ loneMs }) => loneMs !== null))) return;
    const members = room.members();
    for (const seen of reports.flatMap((report) => seenSpeeds(report, members))) speeds.learn(seen).catch(onProblem);
  }

  /** Why a model was lost is of no use once it is served anew, whatever becomes of that. */
  #forgetOutlived(): void {
    const all = this.#known();
    for (const each of all) {
      if (!isOutlived(each, all)) continue;
      const { id } = each.report;
      this.#others.forgetPipeline(id);
      this.#host.forgetPipeline(id).catch((cause: unknown) => this.#options.onProblem?.(cause));
    }
  }

  #forgetGone(): void {
    const known = new Set(this.#known().map(({ report }) => report.id));
    for (const id of [...this.#asked.keys(), ...this.#putAway]) {
      if (known.has(id)) continue;
      this.#asked.delete(id);
      this.#putAway.delete(id);
    }
  }

  #onChange(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** Answers how many pipelines that ended, or would have come back. */
  async #stopHere(id: string, drainMs: number, forget: boolean): Promise<number> {
    const kept = forget && (await this.#options.kept.forget(id));
    const [planned, driven] = await Promise.all([this.#lead.stop(id), this.#host.stop(id, drainMs)]);
    return planned + driven + Number(kept) + this.#others.forget(id);
  }

  /** One that cannot be kept serves all the same. */
  async #keep(request: ServeRequest, order: LeadOrder, ready: Ready): Promise<void> {
    const { kept, onProblem } = this.#options;
    const reports = this.pipelines().flatMap(({ report }) => (ready.pipelines.includes(report.id) ? [report] : []));
    const { members, force, policy, plainRam, contextLength, slots, replicas, kvType, mostDrafts, exact, aliases } =
      request;
    const { draft } = order;
    await kept
      .keep({
        modelId: ready.model,
        request: {
          ...{
            members,
            force,
            policy,
            plainRam,
            contextLength,
            slots,
            replicas,
            kvType,
            draft,
            mostDrafts,
            exact,
            aliases,
          },
          model: reports[0]?.model || order.model,
        },
        members: [...new Set(reports.flatMap(({ stages }) => stages.map(({ member }) => member)))],
      })
      .catch((cause: unknown) => onProblem?.(cause));
    await this.learnServes();
  }

  /** The id of the model that a person means by it, if only as what comes up. */
  #idOf(called: string): string {
    const reports = this.pipelines().map(({ report }) => report);
    // What has ended is meant only where nothing else is.
    return pipelineCalled(reports.filter(isLive), called) ?? pipelineCalled(reports, called) ?? called;
  }

  async #orderOf(request: ServeRequest, signal: AbortSignal): Promise<LeadOrder> {
    const { files } = this.#options;
    const {
      model,
      modelPath,
      members,
      replicas,
      exact,
      aliases,
      draft,
      draftPath,
      mostDrafts,
      alwaysDraft,
      mostAhead,
      ...sizes
    } = request;
    const names = members?.filter((member) => typeof member === 'string') ?? [];
    const places = members?.filter((member) => typeof member !== 'string') ?? [];
    if (names.length > 0 && places.length > 0) {
      throw new PipelineError('FormFailed', 'Give all members by name, id or address, or all by address and id.');
    }
    const own = modelPath === undefined ? await this.#ownCalled(model) : await files.importFile(modelPath, signal);
    const called = own ?? model;
    if (called === undefined) throw new PipelineError('FormFailed', 'Say which model is to be served.');
    const holders = own === null ? [] : await this.#ownHolders(own, signal);
    return {
      model: called,
      holders,
      members: names.length > 0 ? names : null,
      places: places.length > 0 ? places : null,
      force: sizes.force,
      policy: sizes.policy,
      plainRam: sizes.plainRam,
      contextLength: sizes.contextLength,
      slots: sizes.slots,
      kvType: sizes.kvType,
      replicas: replicas ?? 1,
      exact: exact ?? false,
      draft: draftPath === undefined ? draft : await files.importFile(draftPath, signal),
      mostDrafts: mostDrafts ?? MOST_DRAFTS,
      alwaysDraft: alwaysDraft ?? false,
      mostAhead: mostAhead ?? MOST_AHEAD,
      chunk: sizes.chunk,
      aliases: aliases ?? [],
    };
  }

  /** The content id of the model of this member's library that is meant; null where it has none, and others are asked. */
  async #ownCalled(model: string | undefined): Promise<string | null> {
    const { room, files } = this.#options;
    const found = model === undefined ? null : await locateModel(model, { room, files, others: this.#others });
    return found?.isHere ? found.model : null;
  }

  /** Of a model of this member's library, whose file may not be as it was; then others may have it. */
  async #ownHolders(id: string, signal: AbortSignal): Promise<readonly ModelHolder[]> {
    try {
      return (await this.#options.files.open(id, [], signal)).holders;
    } catch (cause) {
      signal.throwIfAborted();
      const others = await this.holdersOf(id);
      if (others.length === 0) throw cause;
      return others;
    }
  }

  async #forward(leader: string, order: LeadOrder, onTold: (told: Told) => void, signal: AbortSignal): Promise<Ready> {
    const { room, coordinator } = this.#options;
    const member = room.members().find(({ id }) => id === leader);
    if (member === undefined || member.address === null) {
      throw new PipelineError('FormFailed', 'The member that leads the pool cannot be reached; try again in a moment.');
    }
    const client = new ServingClient({ address: member.address, member: leader, tls: coordinator.tls });
    const { members, places, holders, force, policy, plainRam, aliases, ...rest } = order;
    try {
      const news = client.serve(
        {
          ...rest,
          holders: [...holders],
          members: [...(members ?? [])],
          places: (places ?? []).map(({ address, id }) => ({ address, member: id })),
          force: force ?? '',
          policy: policy ?? '',
          plainRam: plainRam ?? '',
          aliases: [...aliases],
        },
        signal,
      );
      return await untilReady(news, onTold);
    } catch (cause) {
      throw remoteError(cause, member.name);
    } finally {
      client.close();
    }
  }

  /** The model once every live member answers for it; one that nobody waits for any more is ended. */
  async #everywhere(ready: Ready, signal: AbortSignal): Promise<ServedModel> {
    try {
      const model = await this.#arrival(ready, signal);
      await this.#elsewhere(ready, signal);
      return model;
    } catch (cause) {
      if (signal.aborted) await this.stop(ready.model, 0, { forget: false });
      throw cause;
    }
  }

  /** Resolves when the clients of every other member that lives can ask the model too; who does not say so is not waited for long. */
  async #elsewhere({ model, pipelines }: Ready, signal: AbortSignal): Promise<void> {
    const others = this.#options.room.members().filter(({ self, state }) => !self && state === 'alive');
    const asked = others.map(({ id }) => this.#others.clientOf(id)?.awaitModel(model, pipelines));
    const told = Promise.allSettled(asked);
    let leave = (): void => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    signal.addEventListener('abort', leave, { once: true });
    if (!signal.aborted) await Promise.race([told, left]);
    signal.removeEventListener('abort', leave);
    signal.throwIfAborted();
  }

  /** The model as this member's clients ask it, once it is there for them. */
  async #arrival(
    { model, pipelines }: Pick<Ready, 'model' | 'pipelines'>,
    signal: AbortSignal,
    waitMs = ARRIVE_MS,
  ): Promise<ServedModel> {
    const deadline = Date.now() + waitMs;
    for (;;) {
      const known = this.pipelines().some(({ report }) => pipelines.includes(report.id) && report.state === 'serving');
      const found = known ? this.#router.list().find(({ id }) => id === model) : undefined;
      if (found !== undefined) return found;
      if (Date.now() > deadline) {
        throw new PipelineError('FormFailed', `${model} serves, but this member does not hear from who drives it.`);
      }
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          forget();
          signal.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, deadline - Date.now() + 1);
        const forget = this.#onChange(wake);
        signal.addEventListener('abort', wake, { once: true });
      });
      signal.throwIfAborted();
    }
  }
}

/** Whether it has failed, and its model has been served anew since. */
function isOutlived({ report }: PoolPipeline, all: readonly PoolPipeline[]): boolean {
  return (
    report.state === 'failed' &&
    report.createdAt > 0 &&
    all.some(
      ({ report: other }) => other.modelId === report.modelId && isLive(other) && other.createdAt > report.createdAt,
    )
  );
}

function leadOrder({
  members,
  places,
  force,
  policy,
  plainRam,
  replicas,
  contextLength,
  slots,
  kvType,
  draft,
  mostDrafts,
  mostAhead,
  chunk,
  ...rest
}: CheckedServeOrder): LeadOrder {
  return {
    ...rest,
    members: members.length > 0 ? members : null,
    places: places.length > 0 ? places.map(({ address, member: id }) => ({ address, id })) : null,
    force: force === '' ? undefined : force,
    policy: policy === '' ? undefined : policy,
    plainRam: plainRam === '' ? undefined : plainRam,
    replicas: replicas ?? 1,
    contextLength,
    slots,
    kvType,
    draft,
    mostDrafts: mostDrafts ?? MOST_DRAFTS,
    mostAhead: mostAhead ?? MOST_AHEAD,
    chunk,
  };
}
