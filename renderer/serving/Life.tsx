import type { PipelineState, ServingPipeline } from '../../electron/gateway/memberApi.ts';

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
  if (state === 'failed') {
    return (
      <p className="notice" data-tone="problem" role="alert">
        {reason ?? 'It has failed.'}
      </p>
    );
  }
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
