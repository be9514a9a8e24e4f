import { formatBytes } from '../../electron/planner/formatBytes.ts';
import type { Band } from './bandsOf.ts';

const LEAST_TRACK = 280; // px, in the smallest window
const LEAST_CELL = 5; // px, its gap included; of narrower ones one would see the gaps alone

/** One member: its name, what it holds, and its layers as a band as wide as its share of the model. */
export function StageCard({ band }: { band: Band }) {
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
