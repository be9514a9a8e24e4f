/**
 * Installs and builds whatever is missing, and is quick when nothing is: every step keeps a stamp of the hash of its
 * inputs, and looks whether its output is there. Imports nothing that `npm ci` would have to bring. Progress goes to stderr.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const at = (...parts) => join(root, ...parts);

/** Runs a command with its output on stderr; ends this process with one plain line when it fails. */
function run(what, command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell: false, ...options });
  if (result.error) fail(`${what}: '${command}' could not be started (${result.error.message}). Is it installed?`);
  if (result.status !== 0) fail(`${what} failed: ${command} ${args.join(' ')}`);
}

function fail(message) {
  process.stderr.write(`roomful: ${message}\n`);
  process.exit(1);
}

/** Every file below the given paths, in a stable order. */
function filesBelow(paths) {
  const files = [];
  const visit = (path) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const child = join(path, entry.name);
      if (entry.isDirectory()) visit(child);
      else files.push(child);
    }
  };
  for (const path of paths) {
    if (!existsSync(path)) continue;
    try {
      visit(path);
    } catch (cause) {
      if (cause.code !== 'ENOTDIR') throw cause;
      files.push(path);
    }
  }
  return files.sort();
}

function hashOf(paths, extra = '') {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${extra}`);
  for (const file of filesBelow(paths)) hash.update(file.slice(root.length)).update('\0').update(readFileSync(file));
  return hash.digest('hex');
}

/** Runs `build` unless `stamp` already holds `hash` and `output` is there. */
function once({ stamp, output }, hash, build) {
  if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  rmSync(stamp, { force: true });
  build();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, hash);
}

const bin = (name) => at('node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name);
const note = (text) => process.stderr.write(`roomful: ${text}\n`);

function installPackages() {
  const stamp = at('node_modules', '.roomful-lock');
  const output = at('node_modules', 'node-llama-cpp', 'package.json');
  once({ stamp, output }, hashOf([at('package-lock.json')]), () => {
    note('installing packages (npm ci) ...');
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
    run('npm ci', npm, ['ci', '--no-audit', '--no-fund'], { shell: process.platform === 'win32' });
  });
}

/** The llama.cpp and ggml headers of the release that the prebuilt libraries were made from. */
function extractHeaders() {
  const bundle = at('node_modules', 'node-llama-cpp', 'llama', 'gitRelease.bundle');
  const version = readFileSync(at('node_modules', 'node-llama-cpp', 'package.json'), 'utf8');
  const output = at('build', 'llama-headers', 'include', 'llama.h');
  once({ stamp: at('build', 'llama-headers.stamp'), output }, hashOf([], version), () => {
    note('extracting the llama.cpp headers ...');
    const clone = at('build', 'llama.git');
    rmSync(clone, { recursive: true, force: true });
    rmSync(at('build', 'llama-headers'), { recursive: true, force: true });
    mkdirSync(at('build', 'llama-headers'), { recursive: true });
    run('reading the source bundle', 'git', ['clone', '--quiet', '--bare', bundle, clone]);
    const tree = ['--git-dir', clone, '--work-tree', at('build', 'llama-headers')];
    run('extracting headers', 'git', [
      ...tree,
      'checkout',
      '--quiet',
      'HEAD',
      '--',
      'include',
      'ggml/include',
      'LICENSE',
    ]);
    rmSync(clone, { recursive: true, force: true });
  });
}

function buildNative({ sanitize = false } = {}) {
  extractHeaders();
  const name = sanitize ? 'native-asan' : 'native';
  const inputs = [at('native'), at('build', 'llama-headers.stamp'), at('package-lock.json')];
  const output = at('build', name, 'roomful.node');
  once({ stamp: at('build', `${name}.stamp`), output }, hashOf(inputs), () => {
    note(`building the addon${sanitize ? ' with the address sanitizer' : ''} ...`);
    const flags = [`-DROOMFUL_SANITIZE=${sanitize ? 'ON' : 'OFF'}`, '-DCMAKE_BUILD_TYPE=Release'];
    run('configuring the addon', 'cmake', ['-S', at('native'), '-B', at('build', name), ...flags]);
    run('building the addon', 'cmake', ['--build', at('build', name), '--config', 'Release', '--parallel', '2']);
  });
}

function generateWire() {
  const inputs = [at('electron', 'wire', 'proto'), at('buf.gen.yaml'), at('package-lock.json')];
  const output = at('electron', 'wire', 'generated', 'roomful', 'v1', 'ring.ts');
  once({ stamp: at('build', 'wire.stamp'), output }, hashOf(inputs), () => {
    note('generating the wire types ...');
    rmSync(at('electron', 'wire', 'generated'), { recursive: true, force: true });
    run('generating the wire types', bin('buf'), ['generate']);
  });
}

function compile() {
  const sources = ['electron', 'e2e', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'].map((name) =>
    at(name),
  );
  const output = at('dist', 'electron', 'cli', 'main.js');
  once({ stamp: at('build', 'compile.stamp'), output }, hashOf(sources), () => {
    note('compiling TypeScript ...');
    for (const part of ['electron', 'e2e']) rmSync(at('dist', part), { recursive: true, force: true });
    run('compiling', bin('tsc'), ['-p', 'tsconfig.build.json']);
  });
}

/** The window that the gateway serves, and the preload script of Electron's sandbox. */
function bundleWindow() {
  const sources = ['renderer', 'resources/icons/icon.svg', 'electron/planner', 'electron/gateway/memberApi.ts'];
  const preload = ['electron/preload.ts', 'electron/desktop/ipcChannels.ts', 'scripts/preload.vite.config.ts'];
  const hash = hashOf([...sources, ...preload, 'package-lock.json'].map((name) => at(name)));
  const output = at('dist', 'renderer', 'index.html');
  once({ stamp: at('build', 'window.stamp'), output }, hash, () => {
    note('bundling the window ...');
    for (const config of ['renderer/vite.config.ts', 'scripts/preload.vite.config.ts'])
      run('bundling the window', bin('vite'), ['build', '--logLevel', 'warn', '--config', config]);
  });
}

/** Makes the checkout ready to run. `sanitize` also builds the addon with the address sanitizer, for the tests. */
export function setUp({ sanitize = false } = {}) {
  const [major] = process.versions.node.split('.').map(Number);
  if (major < 20) fail(`Node 20 or newer is needed; this is ${process.versions.node}.`);
  installPackages();
  buildNative();
  if (sanitize) buildNative({ sanitize: true });
  generateWire();
  compile();
  bundleWindow();
}
