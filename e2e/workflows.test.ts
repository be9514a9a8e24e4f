import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, '.github', 'workflows');
// What electron-builder reads its own configuration with; it has no types.
const { load }: { load(text: string): unknown } = createRequire(import.meta.url)('js-yaml');
const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));

const step = z
  .strictObject({
    name: z.string().optional(),
    if: z.string().optional(),
    uses: z
      .string()
      .regex(/^[\w-]+\/[\w-]+@v\d+$/)
      .optional(),
    with: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
    run: z.string().optional(),
    env: z.record(z.string(), z.string()).optional(),
  })
  .refine(({ uses, run }) => (uses === undefined) !== (run === undefined), { error: 'A step either uses or runs.' });
const job = z.strictObject({
  name: z.string(),
  'runs-on': z.string(),
  'timeout-minutes': z.int().max(120),
  strategy: z.strictObject({
    'fail-fast': z.boolean(),
    matrix: z.strictObject({ include: z.array(z.record(z.string(), z.string())).min(1) }),
  }),
  env: z.record(z.string(), z.string()).optional(),
  steps: z.array(step).min(1),
});
const workflow = z.strictObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions: z.strictObject({ contents: z.literal('read') }),
  concurrency: z.unknown().optional(),
  jobs: z.record(z.string(), job),
});

const runners = ['ubuntu-24.04', 'macos-15', 'macos-15-intel', 'windows-2025'];
const contexts = ['github.ref'];

describe.each(readdirSync(folder))('%s', (file) => {
  const text = readFileSync(join(folder, file), 'utf8');
  const { jobs } = workflow.parse(load(text));
  const steps = Object.values(jobs).flatMap((one) => one.steps);

  test('runs on machines that there are, and names what they know', () => {
    for (const { strategy, ...rest } of Object.values(jobs)) {
      const kinds = strategy.matrix.include;
      for (const { runner } of kinds) expect(runners).toContain(runner);
      const used = [...JSON.stringify(rest).matchAll(/\$\{\{ ([^}]*) \}\}/g)].map(([, name]) => name ?? '');
      expect(used).toContain('matrix.runner');
      for (const name of used) {
        const key = /^matrix\.(\w+)$/.exec(name)?.[1];
        if (key === undefined) expect(contexts).toContain(name);
        else for (const kind of kinds) expect(Object.keys(kind)).toContain(key);
      }
    }
  });

  test('every npm script and every file that it runs is there', () => {
    const commands = steps.flatMap(({ run }) => run?.split('\n') ?? []);
    const called = commands.flatMap((line) =>
      [...line.matchAll(/npm (?:run )?([\w-]+)/g)].map(([, name]) => name ?? ''),
    );
    expect(called.length).toBeGreaterThan(0);
    for (const name of called) expect(Object.keys(scripts)).toContain(name);
    for (const line of commands) {
      for (const [, path] of line.matchAll(/\bnode ([\w./-]+)/g)) expect(existsSync(join(root, path ?? ''))).toBe(true);
    }
  });
});

test('all three systems are tested, and every installer is built on a machine of its kind', () => {
  const read = (name: string) => workflow.parse(load(readFileSync(join(folder, name), 'utf8'))).jobs;
  const systems = (read('test.yml').test?.strategy.matrix.include ?? []).map(({ runner }) => runner?.split('-')[0]);
  expect(systems).toEqual(['ubuntu', 'macos', 'windows']);
  const built = (read('package.yml').package?.strategy.matrix.include ?? []).map(({ runner, targets }) => [
    runner,
    targets,
  ]);
  expect(built).toEqual([
    ['ubuntu-24.04', '--linux AppImage deb --x64'],
    ['macos-15', '--mac dmg zip --arm64'],
    ['macos-15-intel', '--mac dmg zip --x64'],
    ['windows-2025', '--win nsis --x64'],
  ]);
});
