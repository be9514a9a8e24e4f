import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeDataFolder } from './makeDataFolder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roomful-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('makes what is missing, for its owner alone, and takes what is there', () => {
  const path = join(folder, 'a', 'b ✗', 'c');
  makeDataFolder(path);
  makeDataFolder(path);
  expect(statSync(path).mode & 0o777).toBe(0o700);
});

test('a file in the way is said in one line that tells what to do', () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  expect(() => makeDataFolder(join(file, 'home'))).toThrow(/cannot be made \(ENOTDIR\)\. Set ROOMFUL_HOME/);
});

test.runIf(process.platform === 'linux')('a file system that takes no folders is refused, not tried for ever', () => {
  expect(() => makeDataFolder('/proc/roomful/home')).toThrow(/\/proc\/roomful\/home cannot be made/);
});
