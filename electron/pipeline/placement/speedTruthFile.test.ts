import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SpeedTruthFile } from './speedTruthFile.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-speeds-'));
  path = join(folder, 'speeds.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const profile = { member: 'ada', backend: 'Cpu', bandwidth: 20e9 } as const;
const learn = (file: SpeedTruthFile, measuredMs: number) =>
  file.learn({ model: 'm', ...profile, profileMs: 10, measuredMs });
const speed = (file: SpeedTruthFile) => file.speeds('m', [profile]).get('ada');

test('what was learnt outlives a restart, and counts at once', async () => {
  const file = await SpeedTruthFile.open(path);
  const written = learn(file, 20);
  expect(speed(file)).toBe(0.5);
  await written;
  expect(speed(await SpeedTruthFile.open(path))).toBe(0.5);
});

test('a stage that runs on as it did writes nothing more', async () => {
  const file = await SpeedTruthFile.open(path);
  await learn(file, 20);
  const before = await readFile(path, 'utf8');
  for (const measuredMs of [20, 20.4, 19.7]) await learn(file, measuredMs);
  expect(await readFile(path, 'utf8')).toBe(before);
  expect(speed(file)).toBe(10 / 19.7);
  await learn(file, 25);
  expect(speed(await SpeedTruthFile.open(path))).toBe(0.4);
});

test('a file that cannot be read counts as none', async () => {
  await writeFile(path, '{"version":1,"truths":[{"model":"m"}]}');
  const file = await SpeedTruthFile.open(path);
  expect(speed(file)).toBe(1);
  await learn(file, 20);
  expect(speed(await SpeedTruthFile.open(path))).toBe(0.5);
});
