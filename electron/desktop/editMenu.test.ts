import { expect, test } from 'vitest';
import { standIn } from './testing/electronStandIn.ts';
import { start, theWindow } from './testing/shellHarness.ts';

const flags = { canCut: true, canCopy: true, canPaste: true, canSelectAll: true };

const shownItems = () =>
  standIn.poppedUp?.items.map(({ role, type, enabled }) => [role ?? type, enabled ?? true]) ?? null;

test('a right click offers to paste into a field and to copy what is selected, and nothing where there is no text', async () => {
  await start();
  const click = (params: { isEditable: boolean; selectionText: string }) => {
    standIn.poppedUp = null;
    theWindow().webContents.emit('context-menu', {}, { ...params, editFlags: { ...flags, canCut: false } });
    return shownItems();
  };
  expect(click({ isEditable: true, selectionText: '' })).toEqual([
    ['cut', false],
    ['copy', true],
    ['paste', true],
    ['separator', true],
    ['selectAll', true],
  ]);
  expect(click({ isEditable: false, selectionText: 'an answer' })).toEqual([['copy', true]]);
  expect(click({ isEditable: false, selectionText: ' ' })).toBeNull();
});

test('the window can be zoomed by keys on every system', async () => {
  await start();
  const view = standIn.applicationMenu?.items.find(({ label }) => label === 'View');
  const items = Array.isArray(view?.submenu) ? view.submenu : [];
  expect(items.map(({ role }) => role)).toEqual(['resetZoom', 'zoomIn', 'zoomOut', undefined, 'togglefullscreen']);
});
