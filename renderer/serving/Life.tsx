import { useState } from 'react';
import type { PipelineState, ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { lineOf } from '../controls/lineOf.ts';
import { callMember } from '../member/memberStore.ts';

const steps: readonly { state: PipelineState; name: string }[] = [
  { state: 'planning', name: 'plan' },
  { state: 'fetching', name: 'fetch' },
  { state: 'loading', name: 'load' },
  { state: 'linking', name: 'link' },
  { state: 'warming', name: 'warm up' },
  { state: 'serving', name: 'serve' },
];

/** How far a pipeline is in its life, and why it ended where it did. */
export function Life({ pipeline }: { pipeline: ServingPipeline }) {
  const { state, fraction, reason } = pipeline;
  if (state === 'failed') return <Failed pipeline={pipeline} reason={reason ?? 'It has failed.'} />;
  if (state === 'stopped') return null;
  const at = steps.findIndex((step) => step.state === state);
  const draining = state === 'draining';
  return (
    <div className="life" role="status" aria-label={draining ? 'draining' : state}>
      <ol className="life-steps" aria-hidden="true">
        {steps.map(({ state: step, name }, index) => (
          <li key={step} data-reached={draining || index <= at} data-now={index === at}>
            {name}
            {index === at && state !== 'serving' && fraction > 0 && ` ${Math.floor(fraction * 100)} %`}
          </li>
        ))}
        {draining && <li data-now="true">finishing what runs</li>}
      </ol>
    </div>
  );
}

/** Why a pipeline ended, and what can be done. */
function Failed({ pipeline: { id, figures }, reason }: { pipeline: ServingPipeline; reason: string }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const perform = (work: Promise<unknown>) => {
    setBusy(true);
    setProblem(null);
    work.catch((cause: unknown) => setProblem(lineOf(cause))).finally(() => setBusy(false));
  };
  return (
    <div className="life">
      <p className="notice" data-tone="problem" role="alert">
        {problem ?? reason}
      </p>
      <div className="row life-next">
        <p className="quiet small">
          The members that are there can serve it again as before, where it fits them.
          {figures !== null && ' It also comes back by itself when a member that held it starts again.'}
        </p>
        <div className="row life-buttons">
          <button
            type="button"
            className="quiet-button"
            disabled={busy}
            onClick={() => perform(callMember('putAway', { pipeline: id }))}
          >
            Put it away
          </button>
          <button
            type="button"
            className="quiet-button"
            disabled={busy}
            onClick={() => perform(callMember('serveAgain', { pipeline: id }))}
          >
            {busy ? 'A moment …' : 'Serve it again'}
          </button>
        </div>
      </div>
    </div>
  );
}
