import { appendFile, mkdtemp, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addSpan, missingSpans, type Span, spanBytes } from './spans.ts';
import { parseJournal, TransferJournal } from './transferJournal.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-journal-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const digest = 'a'.repeat(64);
const sha256 = 'b'.repeat(64);

test('a journal that was cut off anywhere tells nothing that was not written', async () => {
  const path = join(folder, 'journal');
  const journal = await TransferJournal.open(path, digest, 'boot-1');
  journal.fixed();
  journal.wrote(0, { from: 0, to: 100 });
  journal.wrote(0, { from: 100, to: 250 });
  journal.wrote(12, { from: 1000, to: 1256 });
  journal.wrote(12, { from: 1200, to: 1256 });
  journal.wrote(13, { from: 0, to: 50 });
  expect(journal.writtenBytes).toBe(250 + 256 + 50);
  journal.damaged(13);
  expect(journal.writtenBytes).toBe(250 + 256);
  journal.verified(0, sha256);
  await journal.close();
  const text = await readFile(path, 'utf8');
  for (let length = 0; length <= text.length; length += 1) {
    const state = parseJournal(text.slice(0, length), digest, 'boot-1');
    const zero = spanBytes(state?.written.get(0) ?? []);
    expect([0, 100, 250]).toContain(zero);
    expect([0, 256]).toContain(spanBytes(state?.written.get(12) ?? []));
    if (state?.verified.has(0)) expect(state.verified.get(0)).toBe(sha256);
  }
  expect(parseJournal(text, 'c'.repeat(64), 'boot-1')).toBeNull();

  // A line without its end, and then another run.
  await truncate(path, text.length - 3);
  const again = await TransferJournal.open(path, digest, 'boot-1');
  expect(again.state.verified.size).toBe(0);
  again.verified(0, sha256);
  again.damaged(12);
  await again.close();
  await appendFile(path, 'w 0 9');
  const third = await TransferJournal.open(path, digest, 'boot-1');
  expect(third.state.verified.get(0)).toBe(sha256);
  expect(third.state.written.has(12)).toBe(false);
  expect(third.state.hasFixed).toBe(true);
  await third.close();
});

test('after the machine went down everything is checked again, and nothing is fetched again that may be there', async () => {
  const path = join(folder, 'rebooted');
  const journal = await TransferJournal.open(path, digest, 'boot-1');
  journal.fixed();
  journal.wrote(3, { from: 0, to: 50 });
  journal.verified(3, sha256);
  await journal.close();
  const after = await TransferJournal.open(path, digest, 'boot-2');
  expect(after.state).toMatchObject({ hasFixed: false });
  expect(after.state.verified.size).toBe(0);
  expect(after.state.written.get(3)).toEqual([{ from: 0, to: 50 }]);
  after.verified(3, sha256);
  await after.close();
  const later = await TransferJournal.open(path, digest, 'boot-2');
  expect(later.state.verified.get(3)).toBe(sha256);
  await later.close();
});

test('spans and what is missing between them make up the whole', () => {
  const span = fc.tuple(fc.nat(200), fc.nat(200)).map(([a, b]): Span => ({ from: Math.min(a, b), to: Math.max(a, b) }));
  fc.assert(
    fc.property(fc.array(span, { maxLength: 20 }), (all) => {
      const spans = all.reduce((before, each) => addSpan(before, each), [] as Span[]);
      const missing = missingSpans(spans, 200);
      const covered = new Set(all.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, at) => from + at)));
      expect(spanBytes(spans)).toBe(covered.size);
      expect(spanBytes(missing)).toBe(200 - covered.size);
      for (const { from, to } of missing) for (let at = from; at < to; at += 1) expect(covered.has(at)).toBe(false);
    }),
  );
});
