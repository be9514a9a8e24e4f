export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Point {
  x: number;
  y: number;
}

const GAP = 5; // px between box and line
const BEND = 46; // px that a bent line stands out
const LABEL_ASPECT = 2.4; // a label is so much wider than high
const BESIDE = 13; // px between a straight line and its label

/** An SVG path from one box to another, and where its label goes. A bent one leaves the straight line to another. */
export function edgePath(from: Box, to: Box, bent: boolean): { path: string; label: Point } {
  const a = centre(from);
  const b = centre(to);
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const bend = bent ? BEND : 0;
  const control = {
    x: (a.x + b.x) / 2 - ((b.y - a.y) / length) * bend * 2,
    y: (a.y + b.y) / 2 + ((b.x - a.x) / length) * bend * 2,
  };
  const start = border(from, a, bent ? control : b);
  const end = border(to, b, bent ? control : a);
  const at = (from: number, via: number, to: number) => (bent ? from / 4 + via / 2 + to / 4 : (from + to) / 2);
  // Above a straight line; beside it where it is steep, away from the bent line that leads back.
  const steep = Math.abs(b.y - a.y) > Math.abs(b.x - a.x);
  const side = bent ? 0 : BESIDE * (steep || b.x < a.x ? -1 : 1);
  const label = {
    x: at(start.x, control.x, end.x) + ((b.y - a.y) / length) * side * LABEL_ASPECT,
    y: at(start.y, control.y, end.y) - ((b.x - a.x) / length) * side,
  };
  const via = bent ? `Q${round(control.x)} ${round(control.y)} ` : 'L';
  return { path: `M${round(start.x)} ${round(start.y)} ${via}${round(end.x)} ${round(end.y)}`, label };
}

function centre({ x, y, width, height }: Box): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

/** Where the line from the centre of a box towards a point leaves it, a little outside. */
function border({ width, height }: Box, { x, y }: Point, towards: Point): Point {
  const dx = towards.x - x;
  const dy = towards.y - y;
  const scale = Math.min(
    dx === 0 ? Number.POSITIVE_INFINITY : (width / 2 + GAP) / Math.abs(dx),
    dy === 0 ? Number.POSITIVE_INFINITY : (height / 2 + GAP) / Math.abs(dy),
  );
  return Number.isFinite(scale) ? { x: x + dx * scale, y: y + dy * scale } : { x, y };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
