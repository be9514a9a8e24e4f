import { useState } from 'react';
import type { LibraryModel, ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { lineOf } from '../controls/lineOf.ts';
import { callMember } from '../member/memberStore.ts';
import { Life } from '../serving/Life.tsx';
import { FitBadge } from './FitBadge.tsx';
import type { FitView } from './fitOfModel.ts';
import { modelFacts } from './modelFacts.ts';
import { isUp } from './pipelinesOf.ts';

interface ModelRowProps {
  model: LibraryModel;
  /** Whether another model is called the same. */
  hasNamesake: boolean;
  fit: FitView | null;
  pipelines: readonly ServingPipeline[];
  onServe: () => void;
  onPlan: () => void;
  onStop: () => void;
  onRemove: () => void;
}

/** A model on this machine's disk: what it is, whether it fits, and what one can do with it. */
export function ModelRow({ model, hasNamesake, fit, pipelines, onServe, onPlan, onStop, onRemove }: ModelRowProps) {
  const { name, title, files, state, problem } = model;
  const up = pipelines.some(isUp);
  return (
    <li className="card model-row" aria-label={name}>
      <div className="model-facts">
        <p className="model-name" title={`${title}\n${files.join('\n')}`}>
          {name}
        </p>
        <p className="quiet small number">{modelFacts(model)}</p>
        {hasNamesake && <p className="quiet small model-path">{files[0]}</p>}
        <p className="row">
          {state !== 'ready' && (
            <span className="badge" data-tone="problem">
              {state}
            </span>
          )}
          {state === 'ready' && <FitBadge fit={fit} />}
        </p>
        <Reading model={model} />
        {problem !== null && (
          <p className="notice small" data-tone="problem">
            {problem}
          </p>
        )}
      </div>
      <div className="row model-actions">
        <button type="button" className="quiet-button" onClick={onPlan}>
          Plan
        </button>
        {!up ? (
          <>
            <button type="button" className="quiet-button danger" onClick={onRemove}>
              Delete
            </button>
            <button type="button" className="button" disabled={state !== 'ready'} onClick={onServe}>
              Serve
            </button>
          </>
        ) : (
          <button type="button" className="quiet-button" onClick={onStop}>
            Stop
          </button>
        )}
      </div>
      {pipelines.map((pipeline) => (
        <Life key={pipeline.id} pipeline={pipeline} />
      ))}
    </li>
  );
}

/** How far a model has been read, for its checksum or to verify it. */
function Reading({ model: { id, name, hashing, verifying } }: { model: LibraryModel }) {
  const [problem, setProblem] = useState<string | null>(null);
  const fraction = verifying ?? hashing;
  if (fraction === null) return null;
  const what = verifying === null ? 'Read once for its checksum' : 'Verified from end to end';
  const stop = () => {
    callMember('stopVerifying', { model: id }).catch((cause: unknown) => setProblem(lineOf(cause)));
  };
  return (
    <div className="row model-reading">
      <span className="quiet small number">{problem ?? `${what}: ${Math.floor(fraction * 100)} %`}</span>
      <progress className="progress" max={1} value={fraction} aria-label={`${what}: ${name}`} />
      {verifying !== null && (
        <button type="button" className="quiet-button" onClick={stop}>
          Stop verifying
        </button>
      )}
    </div>
  );
}
