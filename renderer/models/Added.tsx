import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { type AddedModel, clearDrop, stopTaking, useDrop } from './dropStore.ts';

/** The models that were dropped last, and how far they are. */
export function Added() {
  const models = useDrop((store) => store.models);
  if (models.length === 0) return null;
  const busy = models.some(({ state }) => state === 'waiting' || state === 'copying');
  return (
    <section className="card added" aria-label="Files being added">
      <div className="section-head">
        <h2>{busy ? 'Adding files' : 'Added'}</h2>
        <button type="button" className="quiet-button" onClick={busy ? stopTaking : clearDrop}>
          {busy ? 'Stop' : 'Close'}
        </button>
      </div>
      <ul className="rows">
        {models.map((model, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two files may have one name, and their order never changes
          <li key={index} className="progress-row">
            <span className="model-name">
              {model.name}
              {model.files + model.missing.length > 1 && <span className="quiet"> · {countOf(model)}</span>}
            </span>
            <span className="quiet small number">{stateOf(model)}</span>
            {model.state === 'copying' && (
              <progress
                className="progress"
                max={Math.max(1, model.totalBytes)}
                value={model.bytes}
                aria-label={model.name}
              />
            )}
            {model.problem !== null && (
              <p className="notice small" data-tone="problem" role="alert">
                {model.problem}
                {model.missing.length > 0 && ` Not dropped: ${named(model.missing)}.`}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

const MOST_NAMED = 3;

const words = { waiting: 'waits', copying: 'being taken in', done: 'there', failed: 'not taken', stopped: 'stopped' };

function stateOf({ state, bytes, totalBytes }: AddedModel): string {
  return state === 'copying' && bytes > 0 && bytes < totalBytes
    ? `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`
    : words[state];
}

function countOf({ files, missing }: AddedModel): string {
  return missing.length === 0 ? `${files} files` : `${files} of its ${files + missing.length} files`;
}

function named(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
