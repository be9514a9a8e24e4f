import { PALETTE_SIZE } from './palette.ts';

const colors = Array.from({ length: PALETTE_SIZE }, (_, color) => color);

/** The arrow heads that hops end with; once for all graphs that are seen together. */
export function ArrowHeads() {
  return (
    <svg className="arrow-heads" aria-hidden="true">
      <defs>
        {['tokens', ...colors].map((color) => (
          <marker
            key={color}
            id={`hop-arrow-${color}`}
            className={color === 'tokens' ? 'arrow-tokens' : `band-${color}`}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerUnits="userSpaceOnUse"
            markerWidth="11"
            markerHeight="11"
            orient="auto"
          >
            <path d="M0 0.5L8 4L0 7.5z" />
          </marker>
        ))}
      </defs>
    </svg>
  );
}
