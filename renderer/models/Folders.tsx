import type { LibraryState } from '../../electron/gateway/memberApi.ts';

interface FoldersProps extends Pick<LibraryState, 'folders' | 'skipped'> {
  onRemove: (path: string) => void;
}

/** The folders that are watched for models, and the files there that are none. */
export function Folders({ folders, skipped, onRemove }: FoldersProps) {
  // The first is the library's own, and of no interest as long as all in it are models.
  const [, ...added] = folders;
  if (added.length === 0 && skipped.length === 0) return null;
  return (
    <section className="card" aria-label="Watched folders">
      <h2>Watched folders</h2>
      <ul className="rows">
        {added.map(({ path, problem }) => (
          <li key={path} className="progress-row">
            <span className="model-path">{path}</span>
            <button
              type="button"
              className="quiet-button"
              aria-label={`Stop watching ${path}`}
              onClick={() => onRemove(path)}
            >
              Stop watching
            </button>
            {problem !== null && (
              <p className="notice small" data-tone="problem">
                {problem}
              </p>
            )}
          </li>
        ))}
        {skipped.map(({ path, problem }) => (
          <li key={path}>
            <p className="model-path small">{path}</p>
            <p className="quiet small model-path">Skipped: {problem}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
