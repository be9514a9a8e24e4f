import type { PipelineNumbers } from '../numbers/pipelineNumbers.ts';
import { isLive, type PipelineReport, type PlannedPace } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';
import { type ComingUp, DrivenPipeline, type DrivenPipelineOptions, type PipelineOrder } from './drivenPipeline.ts';

/** How long what has ended is still shown, ms. */
const STOPPED_SHOWN_MS = 10_000;
const FAILED_SHOWN_MS = 10 * 60_000;

/** How often it is looked at what pipelines do, ms. */
const LOOK_MS = 1000;

/** What a pipeline that serves has done. */
export interface DrivenNumbers {
  id: string;
  modelId: string;
  predicted: PlannedPace;
  numbers: PipelineNumbers;
}

/** The pipelines that this member drives. */
export class PipelineHost {
  readonly #options: DrivenPipelineOptions;
  readonly #pipelines = new Map<string, DrivenPipeline>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #looking: NodeJS.Timeout;
  #closed = false;

  constructor(options: DrivenPipelineOptions) {
    this.#options = options;
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
    this.#looking.unref();
  }

  reports(): PipelineReport[] {
    return [...this.#pipelines.values()].map(({ report }) => report);
  }

  numbers(): DrivenNumbers[] {
    return [...this.#pipelines.values()].flatMap(({ order: { id, modelId, predicted }, numbers }) =>
      numbers === null ? [] : [{ id, modelId, predicted, numbers }],
    );
  }

  find(id: string): DrivenPipeline | undefined {
    return this.#pipelines.get(id);
  }

  /** See DrivenPipeline.start. What has failed of the same model without ever having served makes way. */
  async drive(order: PipelineOrder, listener: ComingUp, signal: AbortSignal): Promise<DrivenPipeline> {
    if (this.#closed) throw new PipelineError('Closed', 'The member is closing.');
    await this.forgetVain(order.modelId);
    if (this.#pipelines.has(order.id)) {
      throw new PipelineError('FormFailed', `Pipeline ${order.id} is here already.`);
    }
    const pipeline = new DrivenPipeline(order, this.#options);
    this.#pipelines.set(order.id, pipeline);
    this.#options.onChange();
    try {
      await pipeline.start(listener, signal);
      return pipeline;
    } catch (cause) {
      this.#forgetLater(pipeline);
      throw cause;
    }
  }

  /** Ends the pipelines of a model, see DrivenPipeline.stop; answers how many there were. */
  async stop(modelId: string, drainMs: number): Promise<number> {
    const ending = this.#of(modelId).filter(({ report }) => report.state !== 'stopped');
    await Promise.all(ending.map((pipeline) => this.#end(pipeline, drainMs)));
    return ending.length;
  }

  /** Lets go of what has failed of a model before it served. */
  async forgetVain(modelId: string): Promise<void> {
    const vain = this.#of(modelId).filter(({ report }) => !isLive(report) && report.createdAt === 0);
    await Promise.all(vain.map((pipeline) => this.#drop(pipeline)));
  }

  /** Lets go of a pipeline that has failed. */
  async forgetPipeline(id: string): Promise<void> {
    const pipeline = this.#pipelines.get(id);
    if (pipeline !== undefined && !isLive(pipeline.report)) await this.#drop(pipeline);
  }

  /** Ends every pipeline that has a stage on a member, or may get one there, with what has happened. */
  async dropMember(member: string): Promise<void> {
    const lost = [...this.#pipelines.values()].filter(
      ({ order, report }) => isLive(report) && order.stages.some((stage) => stage.member === member),
    );
    await Promise.all(
      lost.map((pipeline) => {
        const name = pipeline.order.stages.find((stage) => stage.member === member)?.name ?? member;
        return pipeline.fail(new PipelineError('StageLost', `${name} was removed from the pool.`));
      }),
    );
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#looking);
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([...this.#pipelines.values()].map((pipeline) => pipeline.stop(0)));
    this.#pipelines.clear();
  }

  #look(): void {
    const changed = [...this.#pipelines.values()].filter((pipeline) => pipeline.look());
    if (changed.length > 0) this.#options.onChange();
  }

  #of(modelId: string): DrivenPipeline[] {
    return [...this.#pipelines.values()].filter(({ order }) => order.modelId === modelId);
  }

  async #end(pipeline: DrivenPipeline, drainMs: number): Promise<void> {
    try {
      await pipeline.stop(drainMs);
    } finally {
      this.#forgetLater(pipeline);
    }
  }

  async #drop(pipeline: DrivenPipeline): Promise<void> {
    this.#pipelines.delete(pipeline.order.id);
    await pipeline.stop(0);
  }

  #forgetLater(pipeline: DrivenPipeline): void {
    const shown = pipeline.report.state === 'stopped' ? STOPPED_SHOWN_MS : FAILED_SHOWN_MS;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#pipelines.delete(pipeline.order.id)) this.#options.onChange();
    }, shown);
    timer.unref();
    this.#timers.add(timer);
  }
}
