import type { ServingFigures } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { paceOf } from './paceOf.ts';

interface HopProps {
  number: number;
  /** Where the next band begins, as a fraction of the width. */
  offset: number;
  /** Null before it serves. */
  figures: ServingFigures['hops'][number] | null;
}

/** The way of the activations from one member to the next, drawn where their bands meet. */
export function Hop({ number, offset, figures }: HopProps) {
  return (
    <p className="hop">
      <span className="hop-line" style={{ left: `${offset * 100}%` }} />
      <span className={offset > 0.5 ? 'hop-label hop-label-left' : 'hop-label'} style={{ left: `${offset * 100}%` }}>
        hop {number}
        {figures !== null && ` · ${paceOf(figures)}${figures.bytes > 0 ? ` · ${formatBytes(figures.bytes)} sent` : ''}`}
      </span>
    </p>
  );
}
