import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';

/** The folders of DESIGN.md section 2 with their rank; imports point to the same rank or a lower one. */
const rank = {
  desktop: 5,
  cli: 5,
  gateway: 4,
  pipeline: 3,
  engines: 3,
  library: 3,
  pool: 3,
  stage: 2,
  wire: 2,
  gguf: 2,
  planner: 1,
};
type Folder = keyof typeof rank;
const folders = Object.keys(rank) as Folder[];

/** Every way to import a module; `N` is replaced to keep names apart. */
const forms = [
  (from: string) => `import { aN } from '${from}';\nexport const useN = aN;`,
  (from: string) => `import type { BN } from '${from}';\nexport type UseN = BN;`,
  (from: string) => `import '${from}';`,
  (from: string) => `import * as cN from '${from}';\nexport const starN = cN.d;`,
  (from: string) => `export const lazyN = await import('${from}');`,
  (from: string) => `export * from '${from}';`,
  (from: string) => `export { eN } from '${from}';`,
  (from: string) => `export type { FN } from '${from}';`,
  (from: string) => `export type InlineN = import('${from}').G;`,
  (from: string) => `export type WholeN = typeof import('${from}');`,
  (from: string) => `export const requiredN = require('${from}');`,
];
const inlineTypeForms = new Set([8, 9]);
const requireForm = 10;

interface Probe {
  /** File that imports. */
  file: string;
  specifier: string;
  allowed: boolean;
}

function folderProbes(): Probe[] {
  const probes: Probe[] = [];
  for (const from of folders) {
    for (const to of folders) {
      const allowed = from === 'planner' || to === 'planner' ? to === 'planner' : rank[to] <= rank[from];
      const inside = from === to;
      probes.push({ file: `electron/${from}/a.ts`, specifier: inside ? './x.ts' : `../${to}/x.ts`, allowed });
      if (inside && from === 'planner') {
        for (const specifier of ['../x.ts', '../deeper/x.ts'])
          probes.push({ file: 'electron/planner/deep/a.ts', specifier, allowed });
        continue;
      }
      probes.push({ file: `electron/${from}/deep/a.ts`, specifier: `../../${to}/deeper/x.ts`, allowed });
    }
  }
  return probes;
}

function electronProbes(): Probe[] {
  const files = [...folders.map((folder) => `electron/${folder}/a.ts`), 'electron/headless.ts', 'electron/member.ts'];
  const mayImport = (file: string) => file.startsWith('electron/desktop/');
  return [
    ...[...files, 'renderer/a.ts'].flatMap((file) =>
      ['electron', 'electron/main', 'electron-updater'].map((specifier) => ({
        file,
        specifier,
        allowed: mayImport(file),
      })),
    ),
    { file: 'electron/main.ts', specifier: 'electron', allowed: true },
    { file: 'electron/preload.ts', specifier: 'electron', allowed: true },
  ];
}

function nativeProbes(): Probe[] {
  const probes: Probe[] = [];
  for (const folder of folders) {
    const allowed = folder === 'stage';
    for (const specifier of ['../../native/x.ts', '../../build/native/roomful.node'])
      probes.push({ file: `electron/${folder}/a.ts`, specifier, allowed });
    const addon = folder === 'stage' ? './nativeAddon.ts' : '../stage/nativeAddon.ts';
    probes.push({ file: `electron/${folder}/a.ts`, specifier: addon, allowed });
  }
  for (const file of ['electron/main.ts', 'electron/headless.ts', 'electron/member.ts', 'electron/preload.ts'])
    probes.push({ file, specifier: './stage/nativeAddon.ts', allowed: false });
  return probes;
}

function rootProbes(): Probe[] {
  const probes: Probe[] = [];
  const top = new Set<string>(['desktop', 'cli']);
  for (const folder of folders) {
    for (const entry of ['main', 'headless', 'preload'])
      probes.push({ file: `electron/${folder}/a.ts`, specifier: `../${entry}.ts`, allowed: false });
    probes.push({ file: `electron/${folder}/a.ts`, specifier: '../member.ts', allowed: top.has(folder) });
    probes.push({ file: `electron/${folder}/a.ts`, specifier: '../../renderer/x.ts', allowed: false });
  }
  for (const file of ['electron/main.ts', 'electron/headless.ts', 'electron/member.ts']) {
    probes.push({ file, specifier: '../renderer/x.ts', allowed: false });
    probes.push({ file, specifier: './gateway/x.ts', allowed: true });
  }
  for (const specifier of ['./gateway/memberApi.ts', './desktop/ipcChannels.ts'])
    probes.push({ file: 'electron/preload.ts', specifier, allowed: true });
  for (const specifier of ['./gateway/x.ts', './desktop/x.ts', './planner/x.ts', 'node:fs', 'zod', '../renderer/x.ts'])
    probes.push({ file: 'electron/preload.ts', specifier, allowed: false });
  return probes;
}

function rendererProbes(): Probe[] {
  const probes: Probe[] = folders.flatMap((folder) => [
    { file: 'renderer/a.ts', specifier: `../electron/${folder}/x.ts`, allowed: folder === 'planner' },
    { file: 'renderer/deep/a.ts', specifier: `../../electron/${folder}/x.ts`, allowed: folder === 'planner' },
  ]);
  for (const specifier of ['../electron/main.ts', '../electron/member.ts', '../electron/preload.ts', 'node:fs'])
    probes.push({ file: 'renderer/a.ts', specifier, allowed: false });
  const fixtures = '../electron/gateway/testing/memberFixtures.ts';
  for (const specifier of ['../electron/gateway/memberApi.ts', fixtures, './gateway/x.ts', 'react', 'zustand'])
    probes.push({ file: 'renderer/a.ts', specifier, allowed: true });
  for (const specifier of ['zod', '../planner/x.ts'])
    probes.push({ file: 'electron/gateway/memberApi.ts', specifier, allowed: true });
  for (const specifier of ['./x.ts', 'fastify', 'node:fs', '../pipeline/x.ts'])
    probes.push({ file: 'electron/gateway/memberApi.ts', specifier, allowed: false });
  return probes;
}

const probes = [...folderProbes(), ...electronProbes(), ...nativeProbes(), ...rootProbes(), ...rendererProbes()];

const diagnosticsSchema = z.object({
  diagnostics: z.array(
    z.object({ category: z.string(), location: z.object({ path: z.string(), start: z.object({ line: z.number() }) }) }),
  ),
});

let checkout: string;
/** `file:line` of every import that the lint refuses. */
const refused = new Set<string>();
/** `probe index, form index` -> `file:line`. */
const placeOf = new Map<string, string>();

beforeAll(() => {
  const root = dirname(import.meta.dirname);
  checkout = mkdtempSync(join(tmpdir(), 'roomful-lint-'));
  for (const file of ['biome.json', '.gitignore', 'scripts/noImportTypes.grit']) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true });
    copyFileSync(join(root, file), join(checkout, file));
  }
  const sources = new Map<string, string[]>();
  for (const [index, probe] of probes.entries()) {
    const lines = sources.get(probe.file) ?? [];
    sources.set(probe.file, lines);
    for (const [formIndex, form] of forms.entries()) {
      placeOf.set(`${index},${formIndex}`, `${probe.file}:${lines.length + 1}`);
      lines.push(...form(probe.specifier).replaceAll('N', `${index}_${formIndex}`).split('\n'));
    }
  }
  for (const [file, lines] of sources) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true });
    writeFileSync(join(checkout, file), `${lines.join('\n')}\n`);
  }
  const biome = join(root, 'node_modules', '.bin', 'biome');
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '.'];
  const run = spawnSync(biome, args, { cwd: checkout, encoding: 'utf8', maxBuffer: 1 << 28 });
  for (const { category, location } of diagnosticsSchema.parse(JSON.parse(run.stdout)).diagnostics) {
    const place = `${location.path}:${location.start.line}`;
    if (['lint/style/noRestrictedImports', 'plugin', 'lint/style/noCommonJs'].includes(category))
      refused.add(`${place} ${category === 'lint/style/noRestrictedImports' ? 'direction' : 'form'}`);
  }
});

afterAll(() => rmSync(checkout, { recursive: true, force: true }));

test.each([...new Set(probes.map((probe) => probe.file))])('%s imports downwards only, in every form', (file) => {
  for (const [index, probe] of probes.entries()) {
    if (probe.file !== file) continue;
    for (const formIndex of forms.keys()) {
      const place = placeOf.get(`${index},${formIndex}`);
      const what = `form ${formIndex} of '${probe.specifier}' at ${place}`;
      if (inlineTypeForms.has(formIndex) || formIndex === requireForm)
        expect(refused.has(`${place} form`), what).toBe(true);
      else expect(refused.has(`${place} direction`), what).toBe(!probe.allowed);
    }
  }
});
