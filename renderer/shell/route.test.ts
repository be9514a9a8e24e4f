import { expect, test } from 'vitest';
import { hrefOf, pages, parseRoute } from './route.ts';

test('every page is reached by its own address', () => {
  for (const { id } of pages) expect(parseRoute(hrefOf(id)).page).toBe(id);
});

test('what follows the page is its query', () => {
  const { page, query } = parseRoute('#/planner?room=abc');
  expect(page).toBe('planner');
  expect(query.get('room')).toBe('abc');
});

test('anything else, also the token of a link, is the pool', () => {
  for (const fragment of ['', '#', '#/', '#/nowhere', '#token=abc', '#planner/x']) {
    expect(parseRoute(fragment).page, fragment).toBe('pool');
  }
});
