import { type Box, edgePath } from './edgePath.ts';
import type { HopData } from './hopEdges.ts';

interface HopLineProps extends Pick<HopData, 'carries' | 'color'> {
  from: Box;
  to: Box;
  label: string;
}

/** What is drawn of a way between two cards: an arrow with a label. */
export function HopLine({ from, to, carries, color, label }: HopLineProps) {
  const tokens = carries === 'tokens';
  const { path, label: at } = edgePath(from, to, tokens);
  return (
    <g className={`hop-edge ${tokens ? 'hop-edge-tokens' : `band-${color}`}`}>
      <path d={path} markerEnd={`url(#hop-arrow-${tokens ? 'tokens' : color})`} />
      <text x={at.x} y={at.y}>
        {label}
      </text>
    </g>
  );
}
