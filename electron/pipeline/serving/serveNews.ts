import type { PlannedStage, ServeNews } from '../../wire/generated/roomful/v1/serving.ts';
import { type PipelineState, type PlannedPlace, pipelineStates } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';
import type { ServeEvent } from './serveEvents.ts';

type News = Exclude<ServeEvent, { type: 'ready' | 'failed' | 'planned' }>;

/** How a model that comes up is told of between members; what it fails with is the error of the call. */
export type Told =
  | News
  | { type: 'planned'; stages: PlannedPlace[]; explain: string[] }
  | { type: 'ready'; model: string; contextLength: number; pipelines: string[] };

const nothing: ServeNews = {
  planned: undefined,
  stage: undefined,
  state: undefined,
  note: undefined,
  ready: undefined,
};

export function encodeNews(told: Told): ServeNews {
  switch (told.type) {
    case 'planned':
      return { ...nothing, planned: { stages: told.stages, explain: told.explain } };
    case 'progress': {
      const { member, phase, fraction, bytes = { done: 0, total: 0 } } = told;
      return { ...nothing, stage: { member, phase, fraction, doneBytes: bytes.done, totalBytes: bytes.total } };
    }
    case 'state':
      return { ...nothing, state: { pipeline: told.pipeline, state: told.state } };
    case 'note':
      return { ...nothing, note: told.message };
    case 'ready': {
      const { model: modelId, contextLength, pipelines } = told;
      return { ...nothing, ready: { modelId, contextLength, pipelines } };
    }
  }
}

/** Null for news that this build does not know. */
export function decodeNews({ planned, stage, state, note, ready }: ServeNews): Told | null {
  if (planned !== undefined) return { type: 'planned', stages: planned.stages.map(placeOf), explain: planned.explain };
  if (stage !== undefined) {
    const phase = phases.find((each) => each === stage.phase);
    if (phase === undefined) return null;
    const { member, fraction, doneBytes: done, totalBytes: total } = stage;
    return { type: 'progress', member, phase, fraction, ...(total > 0 && { bytes: { done, total } }) };
  }
  if (state !== undefined) {
    const known = pipelineStates.find((each): each is PipelineState => each === state.state);
    return known === undefined ? null : { type: 'state', pipeline: state.pipeline, state: known };
  }
  if (note !== undefined) return { type: 'note', message: note };
  if (ready === undefined) return null;
  return { type: 'ready', model: ready.modelId, contextLength: ready.contextLength, pipelines: ready.pipelines };
}

/** For people and scripts. */
export function eventOf(told: Told): ServeEvent {
  if (told.type === 'ready') return { type: 'ready', model: told.model, contextLength: told.contextLength };
  if (told.type !== 'planned') return told;
  const placement = told.stages.map(({ name, startLayer, endLayer, bytes, kvBytes }) => ({
    member: name,
    startLayer,
    endLayer,
    bytes,
    kvBytes,
  }));
  return { type: 'planned', placement, hops: placement.length - 1, explain: told.explain };
}

/** Hands the news on until the model is ready, and answers how; throws where they end before that. */
export async function untilReady(
  news: AsyncIterable<ServeNews>,
  onTold: (told: Told) => void,
): Promise<Extract<Told, { type: 'ready' }>> {
  for await (const each of news) {
    const told = decodeNews(each);
    if (told?.type === 'ready') return told;
    if (told !== null) onTold(told);
  }
  throw new PipelineError('FormFailed', 'The member that was to serve the model has stopped doing so.');
}

const phases = ['fetching', 'cutting', 'loading', 'checking', 'loaded'] as const;

function placeOf({ takenBytes: _, ...place }: PlannedStage): PlannedPlace {
  return place;
}
