import type { FitView } from './fitOfModel.ts';

/** How a model would do in the room; nothing where that is not known. */
export function FitBadge({ fit }: { fit: FitView | null }) {
  if (fit === null) return null;
  return (
    <span className="badge" data-tone={fit.tone}>
      {fit.text}
    </span>
  );
}
