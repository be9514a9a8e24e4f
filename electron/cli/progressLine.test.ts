import { expect, it } from 'vitest';
import { ProgressLine } from './progressLine.ts';

function shown(isTTY: boolean, show: (line: ProgressLine) => void): string {
  let out = '';
  show(
    new ProgressLine({
      isTTY,
      columns: 60,
      write: (text) => {
        out += text;
      },
    }),
  );
  return out;
}

it('redraws one line on a terminal, cut to its width, and takes it away', () => {
  const out = shown(true, (line) => {
    line.show('model', 0.5, '1 MB/s');
    line.show('model', 1, 'x'.repeat(100));
    line.clear();
    line.clear();
  });
  const [, half = '', whole = '', cleared = ''] = out.split('\r\u001b[2K');
  expect(half).toBe(`model  [${'#'.repeat(12)}${'.'.repeat(12)}]  50%  1 MB/s`);
  expect(whole).toHaveLength(59);
  expect(cleared).toBe('');
  expect(out).not.toContain('\n');
});

it('writes a line at every tenth and every new label elsewhere, without control characters', () => {
  const out = shown(false, (line) => {
    line.show('looking', null);
    for (let percent = 0; percent <= 100; percent++) line.show('model', percent / 100);
    line.clear();
  });
  const tenths = Array.from({ length: 11 }, (_, n) => `model  ${n * 10}%`);
  expect(out.trimEnd().split('\n')).toEqual(['looking', ...tenths]);
});
