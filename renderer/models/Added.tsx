import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { clearDrop, stopTaking, useDrop } from './dropStore.ts';

/** The files that were dropped last, and how far they are. */
export function Added() {
  const files = useDrop((store) => store.files);
  if (files.length === 0) return null;
  const busy = files.some(({ state }) => state === 'waiting' || state === 'copying');
  return (
    <section className="card added" aria-label="Files being added">
      <div className="section-head">
        <h2>{busy ? 'Adding files' : 'Added'}</h2>
        <button type="button" className="quiet-button" onClick={busy ? stopTaking : clearDrop}>
          {busy ? 'Stop' : 'Close'}
        </button>
      </div>
      <ul className="rows">
        {files.map(({ name, bytes, totalBytes, state, problem }) => (
          <li key={name} className="progress-row">
            <span className="model-name">{name}</span>
            <span className="quiet small number">
              {state === 'copying' && bytes > 0 && bytes < totalBytes
                ? `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`
                : words[state]}
            </span>
            {state === 'copying' && <progress className="progress" max={Math.max(1, totalBytes)} value={bytes} />}
            {problem !== null && (
              <p className="notice small" data-tone="problem" role="alert">
                {problem}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

const words = { waiting: 'waits', copying: 'being taken in', done: 'there', failed: 'not taken', stopped: 'stopped' };
