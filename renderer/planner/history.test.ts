import { expect, test } from 'vitest';
import { record, redo, settle, startHistory, undo } from './history.ts';

test('undo and redo walk through the changes', () => {
  const changed = record(record(startHistory('a'), 'b'), 'c');
  expect(undo(changed).present).toBe('b');
  expect(undo(undo(undo(changed))).present).toBe('a');
  expect(redo(undo(changed))).toMatchObject({ present: 'c', future: [] });
  expect(redo(changed)).toEqual(changed);
});

test('one gesture is one step, until it is settled', () => {
  let history = startHistory(0);
  for (let value = 1; value <= 5; value++) history = record(history, value, 'slider');
  expect(undo(history).present).toBe(0);
  history = record(settle(history), 6, 'slider');
  expect(undo(history).present).toBe(5);
});

test('another gesture begins a step of its own', () => {
  const history = record(record(startHistory(0), 1, 'one'), 2, 'other');
  expect(undo(history).present).toBe(1);
});

test('a change after undo forgets what was undone, also within a gesture', () => {
  const undone = undo(record(record(startHistory(0), 1, 'slider'), 2));
  expect(record(undone, 3)).toMatchObject({ present: 3, future: [] });
  expect(undo(record(undone, 3, 'slider')).present).toBe(1);
});

test('the same value is no change, and old steps are forgotten', () => {
  const start = startHistory(0);
  expect(record(start, 0)).toBe(start);
  let history = start;
  for (let value = 1; value <= 1000; value++) history = record(history, value);
  expect(history.past).toHaveLength(200);
});
