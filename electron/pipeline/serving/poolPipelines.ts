import { ServingClient } from '../../wire/servingClient.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { LinkLost, PeerUnreachable } from '../../wire/wireError.ts';
import { isLive, type PipelineReport, parseReport } from '../numbers/pipelineReport.ts';
import type { ServingRoom } from '../placement/servingRoom.ts';
import { type HeldModel, parseHeld } from './heldModel.ts';

export interface PoolPipelinesOptions {
  room: ServingRoom;
  tls(): TlsMaterial;
  /** Called after every change of `all` and `held`. */
  onChange: () => void;
  /** Hears of members that could not be asked and are asked again. */
  onProblem: (cause: unknown) => void;
}

/** A pipeline that another member drives. */
export interface RemotePipeline {
  report: PipelineReport;
  driver: { id: string; name: string };
}

/** Between attempts to watch a member that is there, ms. */
const RETRY_MS = 500;
/** Longest wait for what a member answers at once, ms. */
const FIRST_LIST_MS = 5000;
/** How long what a lost member drove is still shown, ms. */
const LOST_SHOWN_MS = 10 * 60_000;

interface Watch {
  client: ServingClient;
  abort: AbortController;
  reports: PipelineReport[];
  models: HeldModel[];
}

/**
 * The pipelines that the other members drive: every member that lives is watched, not the leader alone, so that those of a
 * member that leads no more are found as long as they serve.
 */
export class PoolPipelines {
  readonly #options: PoolPipelinesOptions;
  readonly #watches = new Map<string, Watch>();
  /** What members drove that were lost, by pipeline. */
  readonly #lost = new Map<string, RemotePipeline>();
  /** Members outside discovery that drive a pipeline of this one's. */
  readonly #extra = new Map<string, { name: string; address: string }>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #forget: () => void;
  #closed = false;

  constructor(options: PoolPipelinesOptions) {
    this.#options = options;
    this.#forget = options.room.onChange(() => this.#follow());
    this.#follow();
  }

  all(): RemotePipeline[] {
    const watched = [...this.#watches].flatMap(([id, { reports }]) =>
      reports.map((report) => ({ report, driver: { id, name: this.#nameOf(id) } })),
    );
    return [...watched, ...this.#lost.values()];
  }

  /** The models that the other members have. */
  held(): { holder: string; models: readonly HeldModel[] }[] {
    return [...this.#watches].map(([id, { models }]) => ({ holder: this.#nameOf(id), models }));
  }

  /** Asks the member that drives a pipeline; null where that is not there. */
  clientOf(member: string): ServingClient | null {
    return this.#watches.get(member)?.client ?? null;
  }

  /** Watches a member that discovery need not know. */
  also(member: { id: string; name: string; address: string }): void {
    this.#extra.set(member.id, member);
    this.#follow();
  }

  /** Shows no more what lost members drove of a model; answers how many pipelines that were. */
  forget(modelId: string): number {
    return this.#show(({ report }) => report.modelId !== modelId);
  }

  /** Shows no more a pipeline that a lost member drove. */
  forgetPipeline(id: string): void {
    this.#show(({ report }) => report.id !== id);
  }

  close(): void {
    this.#closed = true;
    this.#forget();
    for (const timer of this.#timers) clearTimeout(timer);
    for (const { abort } of this.#watches.values()) abort.abort();
    this.#watches.clear();
  }

  #nameOf(id: string): string {
    return this.#options.room.members().find((member) => member.id === id)?.name ?? this.#extra.get(id)?.name ?? id;
  }

  #follow(): void {
    if (this.#closed) return;
    const members = this.#options.room.members();
    const there = new Map<string, string>();
    for (const [id, { address }] of this.#extra) there.set(id, address);
    for (const { id, self, state, address } of members) {
      if (!self && address !== null && (state === 'alive' || state === 'suspect')) there.set(id, address);
      else if (!self && state !== 'alive' && state !== 'suspect') there.delete(id);
    }
    for (const [id, address] of there) if (!this.#watches.has(id)) this.#begin(id, address);
    for (const id of [...this.#watches.keys()]) {
      if (there.has(id)) continue;
      const member = members.find((each) => each.id === id);
      this.#end(
        id,
        member === undefined ? 'is no longer in the pool' : member.state === 'left' ? 'has left' : 'is lost',
      );
    }
  }

  #begin(id: string, address: string): void {
    const { tls } = this.#options;
    const abort = new AbortController();
    const client = new ServingClient({ member: id, address, tls: tls() });
    const watch: Watch = { client, abort, reports: [], models: [] };
    this.#watches.set(id, watch);
    void this.#watch(id, watch).finally(() => client.close());
  }

  /** Follows a member until it is lost to the pool; a connection that breaks before that is made anew. */
  async #watch(id: string, watch: Watch): Promise<void> {
    const { signal } = watch.abort;
    // The first list comes at once; what does not answer is asked again by whatever way leads there then.
    const silent = new AbortController();
    const timer = setTimeout(() => silent.abort(), FIRST_LIST_MS);
    try {
      for await (const list of watch.client.watch(AbortSignal.any([signal, silent.signal]))) {
        clearTimeout(timer);
        const reports = list.pipelines.map(parseReport);
        const models = parseHeld(list.models);
        const isSame = JSON.stringify([reports, models]) === JSON.stringify([watch.reports, watch.models]);
        watch.reports = reports;
        watch.models = models;
        const isBack = this.#isBack(id, reports);
        if (isBack || !isSame) this.#options.onChange();
      }
    } catch (cause) {
      // Membership says who is lost; meanwhile its pipelines are asked for again.
      const isUsual = silent.signal.aborted || cause instanceof LinkLost || cause instanceof PeerUnreachable;
      if (!signal.aborted && !isUsual) this.#options.onProblem(cause);
    } finally {
      clearTimeout(timer);
    }
    if (signal.aborted || this.#closed) return;
    if (this.#extra.has(id) && !this.#options.room.members().some((member) => member.id === id)) {
      // Nobody else says whether it lives.
      this.#extra.delete(id);
      this.#end(id, 'is lost');
      return;
    }
    const again = setTimeout(() => {
      this.#timers.delete(again);
      if (this.#watches.get(id) !== watch) return;
      this.#watches.delete(id);
      const now = this.#options.room.members().find((member) => member.id === id)?.address;
      this.#begin(id, now ?? watch.client.address);
      const next = this.#watches.get(id);
      if (next === undefined) return;
      next.reports = watch.reports;
      next.models = watch.models;
    }, RETRY_MS);
    this.#timers.add(again);
  }

  #end(id: string, why: string): void {
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    this.#watches.delete(id);
    watch.abort.abort();
    const driver = { id, name: this.#nameOf(id) };
    const message = `${driver.name}, which drove this pipeline, ${why}.`;
    const lost = watch.reports.filter(isLive).map((report) => ({
      report: lostReport(report, message),
      driver,
    }));
    if (lost.length > 0) {
      const shown = new Set(lost.map(({ report }) => report.id));
      for (const each of lost) this.#lost.set(each.report.id, each);
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#show(({ report }) => !shown.has(report.id));
      }, LOST_SHOWN_MS);
      timer.unref();
      this.#timers.add(timer);
    }
    this.#options.onChange();
  }

  /** What a member has told that was lost: what it still drives is not lost any more, and of the rest it knows nothing. */
  #isBack(member: string, reports: readonly PipelineReport[]): boolean {
    const driven = new Set(reports.map(({ id }) => id));
    let changed = false;
    for (const { report, driver } of [...this.#lost.values()]) {
      if (driver.id !== member) continue;
      const message = `${driver.name}, which drove this pipeline, was lost and has come back without it.`;
      if (driven.has(report.id)) this.#lost.delete(report.id);
      else this.#lost.set(report.id, { report: lostReport(report, message), driver });
      changed = true;
    }
    return changed;
  }

  /** Keeps of what was lost only what passes; answers how many pipelines that were that did not. */
  #show(passes: (pipeline: RemotePipeline) => boolean): number {
    const gone = [...this.#lost.values()].filter((each) => !passes(each));
    for (const { report } of gone) this.#lost.delete(report.id);
    if (gone.length > 0) this.#options.onChange();
    return gone.length;
  }
}

function lostReport(report: PipelineReport, message: string): PipelineReport {
  return { ...report, state: 'failed', failure: { kind: 'StageLost', message } };
}
