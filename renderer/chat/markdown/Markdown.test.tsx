import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { Markdown } from './Markdown.tsx';

const html = (...lines: string[]): string =>
  renderToStaticMarkup(<Markdown text={lines.join('\n')} />)
    .replace(/^<div class="markdown">|<\/div>$/g, '')
    .replaceAll('\n', '');
const table = (head: string, body: string): string =>
  `<div class="table-scroll" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
const row = (...cells: string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;

test('emphasis, headings, lists, quotes and code are what they say', () => {
  expect(html('# A *hop*', '', 'is **one** `trip`')).toBe(
    '<h1>A <em>hop</em></h1><p>is <strong>one</strong> <code>trip</code></p>',
  );
  expect(html('1. a', '2. b', '   - c')).toBe('<ol><li>a</li><li>b<ul><li>c</li></ul></li></ol>');
  expect(html('> said')).toBe('<blockquote><p>said</p></blockquote>');
});

test('a table with and without outer bars, aligned as it says', () => {
  const body = row('keys', '2048');
  expect(html('| part | bytes |', '| --- | --- |', '| keys | 2048 |')).toBe(table('<th>part</th><th>bytes</th>', body));
  expect(html('part | bytes', '--- | ---', 'keys | 2048')).toBe(table('<th>part</th><th>bytes</th>', body));
  const aligned = html('| a | b | c |', '| :-- | :-: | --: |', '| 1 | 2 | 3 |');
  expect([...aligned.matchAll(/<td style="text-align:(\w+)"/g)].map(([, side]) => side)).toEqual([
    'left',
    'center',
    'right',
  ]);
});

test('cells hold what is inline, and only that', () => {
  const cells = ['**strong**', '`a \\| b`', '- none', '1. first', '# no', '', '<b>', '[x](https://a.example)'];
  const head = cells.map((_, index) => `<th>${index}</th>`).join('');
  expect(
    html(
      `| ${cells.map((_, index) => index).join(' | ')} |`,
      `|${'---|'.repeat(cells.length)}`,
      `| ${cells.join(' | ')} |`,
    ),
  ).toBe(
    table(
      head,
      row(
        '<strong>strong</strong>',
        '<code>a | b</code>',
        '- none',
        '1. first',
        '# no',
        '',
        '&lt;b&gt;',
        '<a href="https://a.example/" title="https://a.example/" target="_blank" rel="noopener noreferrer">x</a>',
      ),
    ),
  );
});

test('rows of a table are as long as its head, and text before it stays a paragraph', () => {
  expect(html('As *follows*:', '| a | b |', '|---|---|', '| 1 |', '| 1 | 2 | 3 |')).toBe(
    `<p>As <em>follows</em>:</p>${table('<th>a</th><th>b</th>', row('1', '') + row('1', '2'))}`,
  );
});

test('a table lies in a list and in a quote too', () => {
  const inner = table('<th>a</th><th>b</th>', row('1', '2'));
  expect(html('> | a | b |', '> |---|---|', '> | 1 | 2 |')).toBe(`<blockquote>${inner}</blockquote>`);
  expect(html('- so:', '', '  | a | b |', '  |---|---|', '  | 1 | 2 |')).toContain(inner);
});

test('what is no table, or not yet one, is text', () => {
  expect(html('| a | b |')).toBe('<p>| a | b |</p>');
  expect(html('| a | b |', '|---|')).toBe('<p>| a | b ||---|</p>');
  expect(html('a | b', 'c | d')).toBe('<p>a | bc | d</p>');
  expect(html('```', '| a | b |', '|---|---|', '```')).not.toContain('<table>');
});

test('links of all kinds open outside, and say where', () => {
  const link = (text: string) =>
    `<a href="https://a.example/b" title="https://a.example/b" target="_blank" rel="noopener noreferrer">${text}</a>`;
  expect(html('[here](https://a.example/b)')).toBe(`<p>${link('here')}</p>`);
  expect(html('<https://a.example/b>')).toBe(`<p>${link('https://a.example/b')}</p>`);
  expect(html('[here][1]', '', '[1]: https://a.example/b')).toBe(`<p>${link('here')}</p>`);
  expect(html('| a |', '| --- |', '| [here][1] |', '', '[1]: https://a.example/b')).toContain(link('here'));
  const bare = link('https://a.example/b');
  expect(html('(see https://a.example/b), or **https://a.example/b**.')).toBe(
    `<p>(see ${bare}), or <strong>${bare}</strong>.</p>`,
  );
  expect(html('https://a.example/b_(c)')).toContain('href="https://a.example/b_(c)"');
  expect(html('`https://a.example/b`')).toBe('<p><code>https://a.example/b</code></p>');
});

test.each([
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'data:text/html,x',
  'vbscript:x',
  'file:///etc/passwd',
  'roomful://join/abc',
  'http://a.example/',
  '//a.example/',
  '/api/leave',
  '#/settings',
  'https://bank.example@evil.example/',
])('a link to %s is text', (address) => {
  const shown = html(`[here](${address})`);
  expect(shown).not.toContain('<a');
  expect(shown).toContain(`here <span class="quiet">(${address})</span>`);
});

test('no HTML, and no image that would be fetched', () => {
  const shown = html(
    '<script>alert(1)</script>',
    '',
    'a <img src=x onerror=alert(1)> ![cat](https://a.example/c.png) ![](https://a.example/d.png)',
    '',
    '<iframe src="https://a.example"></iframe>',
    '',
    '| <svg onload=alert(1)> |',
    '| --- |',
    '| ![cat](https://a.example/c.png) |',
  );
  expect([...shown.matchAll(/<(\w+)/g)].map(([, tag]) => tag).filter((tag) => !ours.has(tag ?? ''))).toEqual([]);
  expect(shown).not.toMatch(/<[^>]*\s(src|on\w+)=/);
  expect(shown).toContain('[image: cat]');
  expect(shown).toContain('[image: https://a.example/d.png]');
});

const ours = new Set(['p', 'span', 'div', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'a']);
