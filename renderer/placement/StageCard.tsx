import type { ServingFigures } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { formatMs } from '../controls/formatMs.ts';
import type { Band } from './bandsOf.ts';
import { paceOf } from './paceOf.ts';

const LEAST_WAIT_MS = 0.05; // less would be shown as nothing

const LEAST_TRACK = 280; // px, in the smallest window
const LEAST_CELL = 5; // px, its gap included; of narrower ones one would see the gaps alone

interface StageCardProps {
  band: Band;
  /** Null before it serves. */
  figures: ServingFigures['stages'][number] | null;
}

/** One member: its name, what it holds, how long it takes, and its layers as a band as wide as its share of the model. */
export function StageCard({ band, figures }: StageCardProps) {
  const { member, layers, startLayer, lastLayer, bytes, offset, width, color } = band;
  const drawn = (width * LEAST_TRACK) / layers >= LEAST_CELL ? layers : 1;
  const cells = Array.from({ length: drawn }, (_, cell) => startLayer + cell);
  const range = layers === 1 ? `layer ${startLayer}` : `layers ${startLayer}–${lastLayer}`;
  return (
    <div className="stage">
      <p className="stage-head">
        <span className="stage-member" title={member}>
          {member}
        </span>
        <span className="stage-holds">
          {range} · {formatBytes(bytes)}
        </span>
      </p>
      {figures !== null && (
        <p className="stage-pace">
          {paceOf(figures)} a token
          {figures.queueMs >= LEAST_WAIT_MS && ` · ${formatMs(figures.queueMs)} waiting for its turn`}
        </p>
      )}
      <div className="track" aria-hidden="true">
        <div className={`band band-${color}`} style={{ marginLeft: `${offset * 100}%`, width: `${width * 100}%` }}>
          {cells.map((layer) => (
            <span key={layer} className="cell" />
          ))}
        </div>
      </div>
    </div>
  );
}
