import { answerTo } from './scenario/answer.ts';
import type { Position, Question } from './scenario/scenario.ts';

export const NODE_HEIGHT = 120;
const LEAST_WIDTH = 196;
export const MOST_WIDTH = 320;
/** Pixels between members that stand in order. */
export const COLUMN = 336;
export const ROW = 204;

/** Pixels: wider for more memory, by its root, so that 8 GB can still be read beside 512. */
export function nodeWidth(memoryBytes: number): number {
  return Math.round(Math.min(MOST_WIDTH, LEAST_WIDTH + Math.sqrt(memoryBytes / 1e9) * 7));
}

/**
 * Puts the members in order: every pipeline from left to right in the order of its stages, wrapped like a snake, so that
 * each hop leads to a neighbour, and below them those that hold nothing.
 */
export function arrange(question: Question): Record<string, Position> {
  const { plan } = answerTo(question);
  const pipelines = plan?.pipelines.map(({ stages }) => stages.map(({ address }) => address)) ?? [];
  const used = new Set(pipelines.flat());
  const idle = question.members.map(({ id }) => id).filter((id) => !used.has(id));
  const perRow = Math.max(2, Math.ceil(Math.sqrt(question.members.length * 1.2)));
  const positions: Record<string, Position> = {};
  let row = 0;
  const put = (ids: readonly string[], snake: boolean): void => {
    for (let at = 0; at < ids.length; at += perRow) {
      const line = ids.slice(at, at + perRow);
      const backwards = snake && (at / perRow) % 2 === 1;
      line.forEach((id, index) => {
        positions[id] = { x: (backwards ? perRow - 1 - index : index) * COLUMN, y: row * ROW };
      });
      row += 1;
    }
  };
  for (const ids of pipelines) put(ids, true);
  put(idle, false);
  return positions;
}
