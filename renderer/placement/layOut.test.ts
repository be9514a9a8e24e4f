import { describe, expect, test } from 'vitest';
import { member, pipeline, servingStage } from '../../electron/gateway/testing/memberFixtures.ts';
import { wayPoints } from '../planner/graph/edgePath.ts';
import { layOut } from './layOut.ts';
import { liveRoom } from './liveRoom.ts';

const names = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

function roomOf(stages: number, idle: number) {
  const pool = names(stages + idle).map((name) => member(name, { shareBytes: 24e9 }));
  const placement = names(stages).map((name, index) => servingStage(name, index, index + 1, 1e9));
  const serving = pipeline({ placement, hops: stages - 1, driver: { id: 'm0', name: 'm0' } });
  return liveRoom(serving, pool, [serving]);
}

describe.each([
  [1, 0, 560],
  [2, 1, 560],
  [3, 2, 1120],
  [5, 3, 1120],
  [7, 0, 560],
])('%i stages and %i others in %i px', (stages, idle, width) => {
  const { members, hops } = roomOf(stages, idle);
  const { boxes, height, bendOf } = layOut(members, hops, width);
  const all = [...boxes.values()];

  test('no card lies on another or outside', () => {
    expect(boxes.size).toBe(stages + idle);
    for (const [index, a] of all.entries()) {
      expect(a.x + a.width).toBeLessThanOrEqual(width);
      expect(a.y + a.height).toBeLessThanOrEqual(height);
      for (const b of all.slice(index + 1)) {
        const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
        expect(apart).toBe(true);
      }
    }
  });

  test('a hop leads to a neighbour', () => {
    const between = (from: string, to: string) => {
      const [a, b] = [boxes.get(from), boxes.get(to)];
      if (a === undefined || b === undefined) throw new Error('A card is missing.');
      return Math.min(Math.abs(a.y - b.y), Math.abs(a.x - b.x));
    };
    for (const { from, to } of hops.filter(({ carries }) => carries === 'activations')) {
      expect(between(from, to)).toBeLessThan(10);
    }
  });

  test('the way back runs beneath no other card', () => {
    const back = hops.find(({ carries }) => carries === 'tokens');
    if (back === undefined || stages > 4) return;
    const [from, to] = [boxes.get(back.from), boxes.get(back.to)];
    if (from === undefined || to === undefined) throw new Error('A card is missing.');
    for (const { x, y } of wayPoints(from, to, bendOf(back), 21).slice(1, -1)) {
      expect(all.filter((box) => x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height)).toEqual(
        [],
      );
    }
  });
});
