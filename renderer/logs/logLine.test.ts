import { expect, test } from 'vitest';
import { logLine } from './logLine.ts';

test('a line of the log is read, with what went wrong', () => {
  const line = { level: 40, time: 0, msg: 'something is wrong with the pool', err: { message: 'no way', stack: '' } };
  expect(logLine(JSON.stringify(line))).toMatchObject({
    level: 'warn',
    text: 'something is wrong with the pool: no way',
  });
  expect(logLine('{"level":30,"time":0,"msg":"ready"}')).toMatchObject({ level: 'info', text: 'ready' });
});

test('other lines are shown as they are', () => {
  expect(logLine('{"level":')).toEqual({ time: '', level: 'info', text: '{"level":' });
});
