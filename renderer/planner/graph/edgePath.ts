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

/**
 * An SVG path from one box to another, and where its label goes. A bent one, which stands out by `by` pixels, leaves the
 * straight line to another.
 */
export function edgePath(from: Box, to: Box, bent: boolean, by = BEND): { path: string; label: Point } {
  const { a, b, start, control, end } = curve(from, to, bent ? by : 0);
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const middle = bent ? along({ start, control, end }, 0.5) : { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
  // Above a straight line; beside it where it is steep, away from the bent line that leads back.
  const steep = Math.abs(b.y - a.y) > Math.abs(b.x - a.x);
  const side = bent ? 0 : BESIDE * (steep || b.x < a.x ? -1 : 1);
  const label = {
    x: middle.x + ((b.y - a.y) / length) * side * LABEL_ASPECT,
    y: middle.y - ((b.x - a.x) / length) * side,
  };
  const via = bent ? `Q${round(control.x)} ${round(control.y)} ` : 'L';
  return { path: `M${round(start.x)} ${round(start.y)} ${via}${round(end.x)} ${round(end.y)}`, label };
}

/** Points along the bent way from one box to another, from the first border to the second. */
export function wayPoints(from: Box, to: Box, by: number, count: number): Point[] {
  const bent = curve(from, to, by);
  return Array.from({ length: count }, (_, index) => along(bent, index / (count - 1)));
}

function curve(from: Box, to: Box, bend: number) {
  const a = centre(from);
  const b = centre(to);
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const control = {
    x: (a.x + b.x) / 2 - ((b.y - a.y) / length) * bend * 2,
    y: (a.y + b.y) / 2 + ((b.x - a.x) / length) * bend * 2,
  };
  const start = border(from, a, bend === 0 ? b : control);
  const end = border(to, b, bend === 0 ? a : control);
  return { a, b, start, control, end };
}

function along({ start, control, end }: Record<'start' | 'control' | 'end', Point>, share: number): Point {
  const at = (from: number, via: number, to: number) =>
    from * (1 - share) ** 2 + 2 * via * share * (1 - share) + to * share ** 2;
  return { x: at(start.x, control.x, end.x), y: at(start.y, control.y, end.y) };
}

export function centre({ x, y, width, height }: Box): Point {
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
