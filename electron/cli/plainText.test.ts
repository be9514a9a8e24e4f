import { expect, test } from 'vitest';
import { plainText } from './plainText.ts';
import { textTable } from './textTable.ts';

test.each([
  ['apache-2.0', 'apache-2.0'],
  ['', ''],
  ['two\nlines\tand\r\nmore', 'two lines and more'],
  ['\u001b[2J\u001b[31mred\u0007', '[2J [31mred'],
  ['abc\u202egnp.exe', 'abc gnp.exe'],
  ['Modèle français 模型 🦙', 'Modèle français 模型 🦙'],
  ['x'.repeat(20), 'x'.repeat(20)],
  ['x'.repeat(21), `${'x'.repeat(19)}…`],
  [`${'🦙'.repeat(21)}`, `${'🦙'.repeat(19)}…`],
  [`${'\n'.repeat(100)}late`, '…'],
])('%j in a line', (text, plain) => {
  expect(plainText(text, 20)).toBe(plain);
});

test('a table stays one, whatever is in its cells', () => {
  const licence = `MIT\n${'very long '.repeat(10_000)}\u001b[2J`;
  const lines = textTable(
    ['model', 'licence', 'size'],
    [
      ['one', licence, '1 GB'],
      ['two', 'mit', '20 GB'],
    ],
    { short: ['licence'] },
  ).split('\n');
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(line.length).toBeLessThan(80);
  expect(lines[3]).toMatch(/^two\s+mit\s+20 GB$/);
});
