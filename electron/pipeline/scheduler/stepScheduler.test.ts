import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextStep, type ScheduledSequence } from './stepScheduler.ts';

const limits = { stages: 2, chunk: () => 4, prefillInFlight: 3, sharedRows: 0, groupSize: () => 1 };
const nothing = { prefill: 0, decode: 0, nextStep: 10 };

const sequence = (id: number, fields: Partial<ScheduledSequence>): ScheduledSequence => ({
  id,
  slot: id,
  length: 10,
  sent: 0,
  promptLength: 10,
  lastStep: -1,
  bulk: false,
  drafting: false,
  ahead: 0,
  waits: false,
  ...fields,
});
const decoding = (id: number, lastStep: number, fields: Partial<ScheduledSequence> = {}): ScheduledSequence =>
  sequence(id, { length: 12, sent: 11, lastStep, ...fields });
const underWay = (id: number): ScheduledSequence => decoding(id, 9, { sent: 12 });
const ids = (step: ReturnType<typeof nextStep>): number[] | undefined => step?.runs.map(({ id }) => id);

test('a prompt goes in chunks and only the last one samples', () => {
  const chunk = (start: number, count: number, sample: boolean) => ({
    runs: [{ id: 0, start, count, sample }],
    kind: 'prefill',
  });
  expect(nextStep([sequence(0, {})], nothing, limits)).toEqual(chunk(0, 4, false));
  expect(nextStep([sequence(0, { sent: 4 })], nothing, limits)).toEqual(chunk(4, 4, false));
  expect(nextStep([sequence(0, { sent: 8 })], nothing, limits)).toEqual(chunk(8, 2, true));
});

test('a decode goes before a prefill, and beside decodes one chunk is in flight at most', () => {
  const one = { ...nothing, prefill: 1 };
  expect(nextStep([sequence(0, {}), decoding(1, 7)], nothing, limits)).toEqual({
    runs: [{ id: 1, start: 11, count: 1, sample: true }],
    kind: 'decode',
  });
  expect(ids(nextStep([sequence(0, {}), underWay(1)], nothing, limits))).toEqual([0]);
  expect(nextStep([sequence(0, {}), underWay(1)], one, limits)).toBeNull();
  expect(ids(nextStep([sequence(0, { sent: 4 })], { ...nothing, prefill: 2 }, limits))).toEqual([0]);
  expect(nextStep([sequence(0, { sent: 4 })], { ...nothing, prefill: 3 }, limits)).toBeNull();
});

test('equals take turns, whatever the order they are listed in', () => {
  const [a, b, c] = [decoding(0, 5), decoding(1, 4), decoding(2, 4)];
  for (const order of [
    [a, b, c],
    [c, b, a],
    [b, a, c],
  ])
    expect(ids(nextStep(order, nothing, limits))).toEqual([1]);
});

test('decodes travel in groups of neighbours: a complete one at once, a part of one only where a stage would have nothing to do', () => {
  const pairs = { ...limits, groupSize: () => 2 };
  const all = [decoding(0, 5), decoding(1, 6), decoding(2, 7), decoding(3, 8)];
  expect(ids(nextStep(all, nothing, pairs))).toEqual([0, 1]);
  const oneBack = [decoding(0, 5), underWay(1), underWay(2), underWay(3)];
  expect(nextStep(oneBack, { ...nothing, decode: 2 }, pairs)).toBeNull();
  expect(ids(nextStep(oneBack, { ...nothing, decode: 1 }, pairs))).toEqual([0]);
  const twoBack = [decoding(0, 5), underWay(1), decoding(2, 6), decoding(3, 7)];
  expect(ids(nextStep(twoBack, { ...nothing, decode: 2 }, pairs))).toEqual([2, 3]);
});

test('nobody waits for a neighbour that makes drafts, guesses ahead or reads its prompt anew', () => {
  const pairs = { ...limits, groupSize: () => 2 };
  const others = [underWay(2), underWay(3), underWay(4), underWay(5)];
  const busy = { ...nothing, decode: 2 };
  for (const mate of [
    decoding(0, 5, { drafting: true }),
    decoding(0, 5, { sent: 15 }),
    decoding(0, 5, { sent: 15, ahead: 3 }),
  ]) {
    expect(ids(nextStep([mate, decoding(1, 6), ...others], busy, pairs))).toEqual([1]);
    expect(nextStep([mate, decoding(1, 6), ...others], { ...nothing, decode: 3 }, pairs)?.kind).not.toBe('decode');
  }
  // Its neighbour in the groups is the next one by slot, which is under way.
  const anew = decoding(0, 5, { sent: 2 });
  expect(ids(nextStep([anew, decoding(1, 6), decoding(2, 6), ...others.slice(1)], busy, pairs))).toEqual([1, 2]);
  expect(nextStep([underWay(0), decoding(1, 6), ...others], busy, pairs)).toBeNull();
});

test('groups are told by slots and of about equal size', () => {
  const seated = [7, 1, 4, 0, 6].map((slot, id) => decoding(id, 5, { slot }));
  const next = (inFlight: typeof nothing, size: number) =>
    nextStep(seated, inFlight, { ...limits, groupSize: () => size });
  // Three groups at most two large: slots 0 and 1, 4 and 6, 7. The oldest sequence sits in slot 7.
  expect(ids(next(nothing, 2))).toEqual([0]);
  // Two groups of three and two.
  expect(ids(next(nothing, 4))).toEqual([0, 4]);
  expect(ids(next(nothing, 3))).toEqual([0, 4]);
  expect(ids(next(nothing, 5))).toEqual([0, 1, 2, 3, 4]);
});

test('sequences that met by chance are parted again: after some rounds every step carries a whole group', () => {
  const room = fc.record({
    sequences: fc.integer({ min: 1, max: 12 }),
    size: fc.integer({ min: 1, max: 6 }),
    mixed: fc.infiniteStream(fc.integer({ min: 0, max: 3 })),
  });
  fc.assert(
    fc.property(room, ({ sequences, size, mixed }) => {
      const live = Array.from({ length: sequences }, (_, id) => ({ ...decoding(id, -1), sent: 12 }));
      const flying: number[][] = [[], [], [], []];
      for (const { id } of live) flying[mixed.next().value ?? 0]?.push(id);
      const groups = Math.ceil(sequences / size);
      const each = Math.ceil(sequences / groups);
      const whole = (step: readonly number[]): boolean =>
        step.every((id) => Math.floor(id / each) === Math.floor((step[0] ?? 0) / each)) &&
        step.length === Math.min(each, sequences - Math.floor((step[0] ?? 0) / each) * each);
      for (let step = 0; step < 60; step += 1) {
        const inFlight = { prefill: 0, decode: flying.length, nextStep: step };
        const next = nextStep(live, inFlight, { ...limits, groupSize: () => size });
        if (next === null) {
          const back = flying.shift() ?? [];
          for (const one of live) if (back.includes(one.id)) one.length += 1;
          continue;
        }
        for (const run of next.runs) {
          const one = live[run.id];
          if (one !== undefined) [one.sent, one.lastStep] = [one.length, step];
        }
        flying.push(next.runs.map(({ id }) => id));
        if (step > 40) expect(whole(next.runs.map(({ id }) => id).sort((a, b) => a - b))).toBe(true);
      }
    }),
  );
});

test('interactive requests go before bulk ones, which are not forgotten', () => {
  const bulk = decoding(0, 2, { bulk: true });
  expect(ids(nextStep([bulk, decoding(1, 8)], nothing, limits))).toEqual([1]);
  expect(ids(nextStep([bulk, underWay(1)], nothing, limits))).toEqual([0]);
  expect(ids(nextStep([bulk, decoding(1, 90)], { ...nothing, nextStep: 100 }, limits))).toEqual([0]);
  const prompts = [sequence(0, { bulk: true }), sequence(1, {})];
  expect(ids(nextStep(prompts, { ...nothing, nextStep: 0 }, limits))).toEqual([1]);
});

test('a sequence whose drafts are being made waits for them alone', () => {
  expect(ids(nextStep([decoding(0, 1, { drafting: true }), decoding(1, 5)], nothing, limits))).toEqual([1]);
  expect(nextStep([decoding(0, 1, { drafting: true })], nothing, limits)).toBeNull();
});

test('drafts on top of others travel alone, when nothing else does', () => {
  const guessing = decoding(0, 5, { sent: 15, ahead: 3 });
  expect(nextStep([guessing], nothing, limits)).toEqual({
    runs: [{ id: 0, start: 15, count: 0, sample: true }],
    kind: 'ahead',
  });
  expect(ids(nextStep([guessing, decoding(1, 8)], nothing, limits))).toEqual([1]);
  expect(ids(nextStep([guessing, sequence(1, {})], nothing, limits))).toEqual([1]);
  expect(ids(nextStep([guessing, decoding(1, 4, { sent: 13, ahead: 1 })], nothing, limits))).toEqual([1]);
  expect(nextStep([decoding(0, 5, { sent: 15 })], nothing, limits)).toBeNull();
});

test('driven to the end, every token of every log is sent once, in order, nobody starves, and groups keep their size', () => {
  const work = fc.array(
    fc.record({ prompt: fc.integer({ min: 1, max: 30 }), answer: fc.integer({ min: 0, max: 8 }), bulk: fc.boolean() }),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(work, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 4 }), (jobs, chunk, size) => {
      const live = jobs.map(({ prompt, answer, bulk }, id) => ({
        ...sequence(id, { length: prompt, promptLength: prompt, bulk }),
        sent: 0,
        length: prompt,
        lastStep: -1,
        answer,
      }));
      const flying: { ids: number[]; prefill: boolean; sample: boolean }[] = [];
      for (let step = 0; ; step += 1) {
        const prefill = flying.filter((one) => one.prefill).length;
        const inFlight = { prefill, decode: flying.length - prefill, nextStep: step };
        const next = nextStep(live, inFlight, {
          stages: 2,
          chunk: () => chunk,
          prefillInFlight: 3,
          sharedRows: 0,
          groupSize: () => size,
        });
        if (next !== null) {
          expect(next.runs.length).toBeLessThanOrEqual(next.kind === 'prefill' ? 1 : size);
          for (const run of next.runs) {
            const found = live[run.id];
            if (found === undefined) throw new Error('unknown sequence');
            expect(run.start).toBe(found.sent);
            expect(run.count).toBeGreaterThan(0);
            expect(run.sample).toBe(run.start + run.count === found.length);
            found.sent += run.count;
            found.lastStep = step;
          }
          flying.push({
            ids: next.runs.map(({ id }) => id),
            prefill: next.kind === 'prefill',
            sample: next.runs.every(({ sample }) => sample),
          });
          continue;
        }
        const back = flying.shift();
        if (back === undefined) break;
        if (!back.sample) continue;
        for (const id of back.ids) {
          const found = live[id];
          if (found !== undefined && found.length < found.promptLength + found.answer) found.length += 1;
        }
      }
      for (const { sent, promptLength, answer } of live) expect(sent).toBe(promptLength + answer);
    }),
  );
});

test('whole texts share a step as far as they fit, in their order', () => {
  const texts = [
    sequence(0, { length: 6, promptLength: 6 }),
    sequence(1, { length: 7, promptLength: 7 }),
    sequence(2, { length: 4, promptLength: 4 }),
  ];
  const shared = { ...limits, sharedRows: 10 };
  const run = (id: number, count: number) => ({ id, start: 0, count, sample: true });
  expect(nextStep(texts, nothing, shared)).toEqual({ runs: [run(0, 6), run(2, 4)], kind: 'prefill' });
  expect(nextStep(texts.slice(1, 2), nothing, { ...shared, chunk: () => 10 })?.runs).toEqual([run(1, 7)]);
  expect(nextStep(texts, { ...nothing, prefill: 3 }, shared)).toBeNull();
});

test('a prompt that waits for another is not sent, and holds up nobody', () => {
  const waiting = sequence(0, { waits: true });
  expect(nextStep([waiting], nothing, limits)).toBeNull();
  expect(ids(nextStep([waiting, sequence(1, { lastStep: 9 })], nothing, limits))).toEqual([1]);
  expect(ids(nextStep([waiting, decoding(2, 9)], nothing, limits))).toEqual([2]);
});
