import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LibrarySettingsFile } from './librarySettings.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'roomful-limits-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

it('keeps what was changed and leaves the rest', async () => {
  const file = await LibrarySettingsFile.open(home);
  expect(file.current).toEqual({ diskBytes: null, bytesPerSecond: null, loadedShare: 0.1 });
  await file.change({ diskBytes: 5e9, bytesPerSecond: undefined });
  await file.change({ loadedShare: 0.5 });
  await expect(file.change({ loadedShare: 2 })).rejects.toThrow();
  expect((await LibrarySettingsFile.open(home)).current).toEqual({
    diskBytes: 5e9,
    bytesPerSecond: null,
    loadedShare: 0.5,
  });
});

it('names what is wrong with an edited file', async () => {
  await writeFile(join(home, 'models.json'), '{"loadedShare": 7}');
  await expect(LibrarySettingsFile.open(home)).rejects.toThrow(
    /models\.json cannot be used \(loadedShare: .*\)\. Correct/,
  );
});
