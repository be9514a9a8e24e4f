import { useEffect, useState } from 'react';
import type { CatalogueModel } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { callMember } from '../member/memberStore.ts';
import { fitWords } from './fitOfModel.ts';

interface CatalogueProps {
  /** Changes when the pool does: what fits may be another. */
  room: string;
  onPull: (reference: string) => void;
}

/** Models worth a try, and whether they fit this pool. */
export function Catalogue({ room, onPull }: CatalogueProps) {
  const [models, setModels] = useState<readonly CatalogueModel[]>([]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another room fits other models
  useEffect(() => {
    let current = true;
    callMember('catalogue', {}).then(
      (answer) => current && setModels(answer.models),
      // The list is an offer; the page says elsewhere that the member is not there.
      () => {},
    );
    return () => {
      current = false;
    };
  }, [room]);
  if (models.length === 0) return null;
  return (
    <section className="card" aria-label="Worth a try">
      <h2>Worth a try</h2>
      <ul className="rows">
        {models.map(({ name, reference, about, bytes, licence, fit, hops, tokensPerSecond, missingBytes }) => {
          const words = fitWords(fit, hops, tokensPerSecond, missingBytes);
          return (
            <li key={reference} className="catalogue-row">
              <div className="model-facts">
                <p className="model-name">{name}</p>
                <p className="quiet small">{about}</p>
                <p className="row small">
                  <span className="badge" data-tone={words.tone}>
                    {words.text}
                  </span>
                  <span className="quiet number">
                    {formatBytes(bytes)} · {licence}
                  </span>
                </p>
              </div>
              <button
                type="button"
                className="quiet-button"
                aria-label={`Download ${name}`}
                onClick={() => onPull(reference)}
              >
                Download
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
