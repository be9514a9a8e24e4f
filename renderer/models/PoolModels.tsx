import type { PoolModel, ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { Life } from '../serving/Life.tsx';
import { FitBadge } from './FitBadge.tsx';
import type { FitView } from './fitOfModel.ts';
import { modelFacts } from './modelFacts.ts';
import { isUp, otherPipelines, pipelinesOf } from './pipelinesOf.ts';

interface PoolModelsProps {
  /** What other members have and this one has not. */
  models: readonly PoolModel[];
  /** What is shown elsewhere with its pipelines. */
  own: readonly { id: string; name: string }[];
  pipelines: readonly ServingPipeline[];
  fitOf: (model: PoolModel) => FitView | null;
  onServe: (model: PoolModel) => void;
  onPlan: (model: PoolModel) => void;
  onStop: (modelId: string) => void;
}

/** The models of the pool that are not on this machine's disk: any member can serve and stop them. */
export function PoolModels({ models, own, pipelines, fitOf, onServe, onPlan, onStop }: PoolModelsProps) {
  const others = otherPipelines([...own, ...models], pipelines);
  if (models.length === 0 && others.length === 0) return null;
  return (
    <section className="pool-models" aria-label="On other machines">
      <h2>On other machines</h2>
      <ul className="models">
        {models.map((model) => (
          <HeldRow
            key={model.id}
            model={model}
            fit={fitOf(model)}
            pipelines={pipelinesOf(model, pipelines)}
            onServe={() => onServe(model)}
            onPlan={() => onPlan(model)}
            onStop={onStop}
          />
        ))}
        {others.map(({ modelId, pipelines: running }) => (
          <li key={modelId} className="card model-row" aria-label={modelId}>
            <div className="model-facts">
              <p className="model-name">{modelId}</p>
              <p className="quiet small">
                {running.some(({ contentId }) => contentId !== '')
                  ? 'No machine that is there has its file.'
                  : 'Its file is being looked for.'}
              </p>
            </div>
            <StopButton pipelines={running} onStop={onStop} />
            {running.map((pipeline) => (
              <Life key={pipeline.id} pipeline={pipeline} />
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface HeldRowProps {
  model: PoolModel;
  fit: FitView | null;
  pipelines: readonly ServingPipeline[];
  onServe: () => void;
  onPlan: () => void;
  onStop: (modelId: string) => void;
}

function HeldRow({ model, fit, pipelines, onServe, onPlan, onStop }: HeldRowProps) {
  const { name, title, holders } = model;
  return (
    <li className="card model-row" aria-label={name}>
      <div className="model-facts">
        <p className="model-name" title={title}>
          {name}
        </p>
        <p className="quiet small number">{modelFacts(model)}</p>
        <p className="row small">
          <FitBadge fit={fit} />
          <span className="quiet">on {holders.join(', ')}</span>
        </p>
      </div>
      <div className="row model-actions">
        <button type="button" className="quiet-button" onClick={onPlan}>
          Plan
        </button>
        {pipelines.some(isUp) ? (
          <StopButton pipelines={pipelines} onStop={onStop} />
        ) : (
          <button type="button" className="button" onClick={onServe}>
            Serve
          </button>
        )}
      </div>
      {pipelines.map((pipeline) => (
        <Life key={pipeline.id} pipeline={pipeline} />
      ))}
    </li>
  );
}

/** Nothing where nothing is up. */
function StopButton({
  pipelines,
  onStop,
}: {
  pipelines: readonly ServingPipeline[];
  onStop: (modelId: string) => void;
}) {
  const up = pipelines.find(isUp);
  if (up === undefined) return null;
  return (
    <button type="button" className="quiet-button" onClick={() => onStop(up.modelId)}>
      Stop
    </button>
  );
}
