import { type Box, centre, edgePath } from './edgePath.ts';
import type { HopData } from './hopEdges.ts';

interface HopLineProps extends Pick<HopData, 'carries' | 'color'> {
  from: Box;
  to: Box;
  label: string;
  /** A second, quieter label. */
  beneath?: string;
  /** How far a way of tokens stands out, px. */
  bend?: number;
  /** Whether something travels along it now. */
  flows?: boolean;
}

const LINE_HEIGHT = 16; // px
const BESIDE_CURVE = 12; // px
const BESIDE_STEEP = 12; // px

/** What is drawn of a way between two cards: an arrow with a label. */
export function HopLine({ from, to, carries, color, label, beneath, bend, flows = false }: HopLineProps) {
  const tokens = carries === 'tokens';
  const { path, label: at } = edgePath(from, to, tokens, bend);
  return (
    <g className={`hop-edge ${tokens ? 'hop-edge-tokens' : `band-${color}`}`}>
      <path d={path} markerEnd={`url(#hop-arrow-${tokens ? 'tokens' : color})`} />
      {flows && <path className="hop-flow" d={path} />}
      {beneath === undefined ? (
        <OneLine {...{ from, to, tokens, at, label }} />
      ) : (
        <TwoLines {...{ from, to, tokens, at, label, beneath }} />
      )}
    </g>
  );
}

/** Where a label beside a steep straight line begins or ends, so that it does not lie on it, however long it is. */
function besideSteep(from: Box, to: Box, at: { x: number }): { x: number; anchor: 'start' | 'end' } {
  const middle = (centre(from).x + centre(to).x) / 2;
  return at.x < middle ? { x: middle - BESIDE_STEEP, anchor: 'end' } : { x: middle + BESIDE_STEEP, anchor: 'start' };
}

function OneLine({ from, to, tokens, at, label }: Omit<TwoLinesProps, 'beneath'>) {
  const [dx, dy] = [centre(to).x - centre(from).x, centre(to).y - centre(from).y];
  // Beside a slanted one it might lie under a card.
  const beside = Math.abs(dy) > 3 * Math.abs(dx) && !tokens ? besideSteep(from, to, at) : null;
  return (
    <text x={beside?.x ?? at.x} y={at.y} style={{ textAnchor: beside?.anchor ?? 'middle' }}>
      {label}
    </text>
  );
}

interface TwoLinesProps extends Required<Pick<HopLineProps, 'from' | 'to' | 'label' | 'beneath'>> {
  tokens: boolean;
  at: { x: number; y: number };
}

/** Above and below a straight line, beside a steep one, and outside of a bent one. */
function TwoLines({ from, to, tokens, at, label, beneath }: TwoLinesProps) {
  const [dx, dy] = [centre(to).x - centre(from).x, centre(to).y - centre(from).y];
  const steep = Math.abs(dy) > Math.abs(dx);
  const middle = (centre(from).y + centre(to).y) / 2;
  const isAbove = at.y < middle;
  const first = !tokens
    ? steep
      ? at.y - LINE_HEIGHT / 2
      : at.y
    : isAbove
      ? at.y - BESIDE_CURVE - LINE_HEIGHT
      : at.y + BESIDE_CURVE;
  const second = !tokens && !steep ? first + 2 * LINE_HEIGHT - 4 : first + LINE_HEIGHT;
  const { x, anchor } = steep && !tokens ? besideSteep(from, to, at) : ({ x: at.x, anchor: 'middle' } as const);
  return (
    <>
      <text x={x} y={first} style={{ textAnchor: anchor }}>
        {label}
      </text>
      <text className="hop-beneath" x={x} y={second} style={{ textAnchor: anchor }}>
        {beneath}
      </text>
    </>
  );
}
