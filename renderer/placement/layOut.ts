import { type Box, wayPoints } from '../planner/graph/edgePath.ts';
import type { LiveHop, LiveMember } from './liveRoom.ts';

export const CARD_HEIGHT = 144;
/** Pixels between cards, in which a hop with its times has room. */
const GAP = { x: 116, y: 84, idle: 20 };
const MARGIN = 14;
/** Above the first row, for a way that leads round other cards. */
const WIDE_MARGIN = 74;
/** How far the way of tokens back may stand out, px, to either side; the first that suits is taken. */
const BENDS = [26, -26, 46, -46, 80, -80, 120, -120, 180, -180];
const LABEL = { width: 112, height: 38 };

export interface Layout {
  boxes: ReadonlyMap<string, Box>;
  width: number;
  height: number;
  /** How far a way of tokens stands out, so that it runs beneath no card where that can be helped. */
  bendOf: (hop: LiveHop) => number;
}

/**
 * Puts the cards of a room in rows of a width: those with layers like a snake, so that each hop leads to a neighbour, and
 * below them the others.
 */
export function layOut(members: readonly LiveMember[], hops: readonly LiveHop[], width: number): Layout {
  const holding = members.filter(({ stage }) => stage !== null);
  const idle = members.filter(({ stage }) => stage === null);
  const inner = Math.max(width - 2 * MARGIN, 1);
  const rows = rowsOf(holding, inner, GAP.x);
  const rowOf = new Map(rows.flatMap((row, index) => row.map(({ id }) => [id, index] as const)));
  const order = new Map(holding.map(({ id }, index) => [id, index]));
  const passesOthers = ({ from, to, carries }: LiveHop): boolean => {
    const [a, b] = [order.get(from), order.get(to)];
    if (carries !== 'tokens' || a === undefined || b === undefined) return false;
    return rowOf.get(from) === rowOf.get(to) && Math.abs(a - b) > 1;
  };
  const boxes = new Map<string, Box>();
  let y = hops.some(passesOthers) ? WIDE_MARGIN : MARGIN;
  const whole = Math.max(0, ...rows.map((row) => widthOf(row, GAP.x)));
  rows.forEach((row, index) => {
    const backwards = index % 2 === 1;
    let x = MARGIN + (backwards ? whole : 0);
    for (const { id, width: wide } of row) {
      if (backwards) x -= wide;
      boxes.set(id, { x, y, width: wide, height: CARD_HEIGHT });
      x += backwards ? -GAP.x : wide + GAP.x;
    }
    y += CARD_HEIGHT + (index < rows.length - 1 ? GAP.y : 0);
  });
  for (const row of rowsOf(idle, inner, GAP.idle)) {
    y += boxes.size === 0 ? 0 : row.some(({ drives }) => drives) ? GAP.y : GAP.idle;
    let x = MARGIN;
    for (const { id, width: wide } of row) {
      boxes.set(id, { x, y, width: wide, height: CARD_HEIGHT });
      x += wide + GAP.idle;
    }
    y += CARD_HEIGHT;
  }
  const height = y + MARGIN;
  return { boxes, width, height, bendOf: ({ from, to }) => bestBend(boxes, from, to, { width, height }) };
}

function bestBend(boxes: Layout['boxes'], from: string, to: string, room: { width: number; height: number }): number {
  const [a, b] = [boxes.get(from), boxes.get(to)];
  const [first = 0] = BENDS;
  if (a === undefined || b === undefined) return first;
  const cost = (bend: number): number => {
    const points = wayPoints(a, b, bend, 21);
    const middle = points[10];
    if (middle === undefined) return 0;
    const isAbove = middle.y < (a.y + a.height / 2 + b.y + b.height / 2) / 2;
    const label = { x: middle.x - LABEL.width / 2, y: isAbove ? middle.y - LABEL.height : middle.y, ...LABEL };
    const isOutside =
      label.x < 0 || label.y < -4 || label.x + label.width > room.width || label.y + label.height > room.height;
    return [...boxes.values()].reduce(
      (sum, box) =>
        sum + points.slice(1, -1).filter((point) => covers(box, point)).length + (overlap(box, label) ? 4 : 0),
      isOutside ? 8 : 0,
    );
  };
  return BENDS.reduce((best, bend) => (cost(bend) < cost(best) ? bend : best), first);
}

function covers({ x, y, width, height }: Box, point: { x: number; y: number }): boolean {
  return point.x > x && point.x < x + width && point.y > y && point.y < y + height;
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** As many in a row as its width holds, and one at least. */
function rowsOf(members: readonly LiveMember[], width: number, gap: number): LiveMember[][] {
  const rows: LiveMember[][] = [];
  for (const member of members) {
    const row = rows.at(-1);
    if (row !== undefined && widthOf([...row, member], gap) <= width) row.push(member);
    else rows.push([member]);
  }
  return rows;
}

function widthOf(row: readonly LiveMember[], gap: number): number {
  return row.reduce((sum, { width }) => sum + width, 0) + gap * Math.max(0, row.length - 1);
}
