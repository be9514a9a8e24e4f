import { describe, expect, test } from 'vitest';
import { groupSize } from './groupSize.ts';
import { StepCosts } from './stepCosts.ts';
import { nextStep, type ScheduledSequence } from './stepScheduler.ts';

interface Decoding extends ScheduledSequence {
  length: number;
  sent: number;
  lastStep: number;
}

/** Rows that sequences get through a ring of such stages in each unit of time, once it is settled; there is no network. */
function throughput(active: number, stages: number, msOf: (rows: number) => number, fixedSize?: number): number {
  const costs = new StepCosts();
  const sequences = Array.from({ length: active }, (_, id): Decoding => {
    const fixed = { promptLength: 10, bulk: false, drafting: false, ahead: 0, waits: false };
    return { id, slot: id, length: 11, sent: 10, lastStep: -1, ...fixed };
  });
  const limits = {
    ...{ stages, chunk: () => 128, prefillInFlight: stages + 1, sharedRows: 0 },
    groupSize: (count: number) => fixedSize ?? groupSize(count, stages, costs, 512),
  };
  const freeAt = new Array<number>(stages).fill(0);
  const flying: { at: number; sentAt: number; ids: number[]; queueMs: number[] }[] = [];
  let [now, settledAt, rows] = [0, 0, 0];
  for (let step = 1; step <= 800; ) {
    const next = nextStep(sequences, { prefill: 0, decode: flying.length, nextStep: step }, limits);
    if (next !== null) {
      let at = now;
      const queueMs = freeAt.map((free, stage) => {
        const begins = Math.max(at, free);
        const waited = begins - at;
        at = begins + msOf(next.runs.length);
        freeAt[stage] = at;
        return waited;
      });
      for (const { id } of next.runs) {
        const sequence = sequences[id];
        if (sequence !== undefined) [sequence.sent, sequence.lastStep] = [sequence.length, step];
      }
      flying.push({ at, sentAt: now, ids: next.runs.map(({ id }) => id), queueMs });
      step += 1;
      continue;
    }
    const back = flying.shift();
    if (back === undefined) throw new Error('nothing is under way');
    now = back.at;
    const computeMs = msOf(back.ids.length);
    const times = back.queueMs.map((waited) => ({ computeMs, queueMs: waited }));
    costs.observe({ rows: back.ids.length, stages: times, ringMs: now - back.sentAt });
    for (const id of back.ids) {
      const sequence = sequences[id];
      if (sequence !== undefined) sequence.length += 1;
    }
    if (step < 400) settledAt = now;
    else rows += back.ids.length;
  }
  return rows / (now - settledAt);
}

const stagesThat: Record<string, (rows: number) => number> = {
  'compute each row alone': (rows) => rows,
  'read the weights once for all': (rows) => 10 + rows,
  'take four rows for little more than one': (rows) => 1.3 * Math.ceil(rows / 4),
};

describe.each(Object.keys(stagesThat))('on stages that %s', (name) => {
  const msOf = stagesThat[name] ?? (() => Number.NaN);
  test.each([1, 2, 3, 4])(
    '%i of them: any number of sequences goes about as quickly as in the best groups',
    (stages) => {
      for (let active = 1; active <= 16; active += 1) {
        const sizes = Array.from({ length: active }, (_, index) => index + 1);
        const best = Math.max(...sizes.map((size) => throughput(active, stages, msOf, size)));
        expect(throughput(active, stages, msOf), `${active} sequences`).toBeGreaterThan(best * 0.9);
      }
    },
  );
});
