import { expect, test } from 'vitest';
import { FiguresView } from './pipelineFigures.ts';
import { PipelineCounter, type PipelineNumbers } from './pipelineNumbers.ts';

const counter = new PipelineCounter(2);
counter.step(
  [
    { stage: 0, computeMs: 3, queueMs: 1, sentBytes: 4096, wayMs: 0.25 },
    { stage: 1, computeMs: 5, queueMs: 0, sentBytes: 0, wayMs: 2.0004 },
  ],
  20,
);
counter.add({ entryBytes: 100, exitBytes: 45 });
counter.add({ entryBytes: 20 });
const numbers = (): PipelineNumbers =>
  counter.numbers({ running: 1, queued: 2, slots: 4, networkMs: 11, exitMs: null });

test('a view tells of the ways between stages, and how many tokens come', () => {
  const view = new FiguresView();
  expect(view.figures).toBeNull();
  expect(view.look(numbers(), 0)).toBe(true);
  expect(view.figures).toMatchObject({
    stages: [{ computeMs: 3 }, { computeMs: 5 }],
    entry: { ms: 0.25, bytes: 120 },
    hops: [{ ms: 2, bytes: 4096 }],
    exit: { ms: null, bytes: 45 },
    queued: 2,
    tokensPerSecond: 0,
  });
  counter.add({ generatedTokens: 30 });
  expect(view.look(numbers(), 2000)).toBe(true);
  expect(view.figures?.tokensPerSecond).toBe(15);
});

test('a pipeline at rest is told of once more, and then no more', () => {
  const view = new FiguresView();
  view.look(numbers(), 0);
  counter.add({ generatedTokens: 1 });
  expect([1000, 2000, 3000, 4000].map((now) => view.look(numbers(), now))).toEqual([true, true, false, false]);
  expect(view.figures?.tokensPerSecond).toBe(0);
});
