import type { LibraryDownload } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';

interface DownloadsProps {
  downloads: readonly LibraryDownload[];
  onStop: (id: string) => void;
  onDiscard: (download: LibraryDownload) => void;
  onResume: (reference: string) => void;
}

/** What is being fetched, and what has stopped on the way. */
export function Downloads({ downloads, onStop, onDiscard, onResume }: DownloadsProps) {
  const shown = downloads.filter(({ state }) => state !== 'done');
  if (shown.length === 0) return null;
  return (
    <section className="card" aria-label="Downloads">
      <h2>Downloads</h2>
      <ul className="rows">
        {shown.map((download) => {
          const { id, reference, state, bytes, totalBytes, problem } = download;
          const runs = state === 'running' || state === 'resolving' || state === 'checking';
          return (
            <li key={id} className="progress-row">
              <span className="model-name">{reference}</span>
              <span className="quiet small number">{lineOf(download)}</span>
              <progress className="progress" max={Math.max(1, totalBytes ?? 1)} value={bytes} aria-label={reference} />
              {problem !== null && (
                <p className="notice small" data-tone="problem">
                  {problem}
                </p>
              )}
              <div className="row">
                {runs ? (
                  <button type="button" className="quiet-button" onClick={() => onStop(id)}>
                    Stop
                  </button>
                ) : (
                  <>
                    <button type="button" className="quiet-button" onClick={() => onResume(reference)}>
                      Go on
                    </button>
                    <button type="button" className="quiet-button danger" onClick={() => onDiscard(download)}>
                      Discard
                    </button>
                  </>
                )}
              </div>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function lineOf({ state, bytes, totalBytes, bytesPerSecond, secondsLeft }: LibraryDownload): string {
  if (state === 'resolving') return 'asking the hub';
  if (state === 'checking') return 'checking what arrived';
  const amount = totalBytes === null ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`;
  if (state !== 'running') return `${state} · ${amount}`;
  return `${amount} · ${formatBytes(bytesPerSecond)}/s${secondsLeft === null ? '' : ` · ${timeText(secondsLeft)} left`}`;
}

function timeText(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
