/** The entry of every npm script: sets the checkout up, then does the task in this process. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, setUp } from './setup.mjs';

const [task, ...args] = process.argv.slice(2);

/** Loads a compiled entry into this process, as if it had been started with `args`. */
async function become(entry, entryArgs) {
  const path = join(root, 'dist', ...entry);
  process.argv.splice(1, process.argv.length - 1, path, ...entryArgs);
  await import(pathToFileURL(path).href);
}

setUp({ sanitize: task === 'test' });
switch (task) {
  case 'build':
    break;
  case 'demo':
    await become(['electron', 'cli', 'main.js'], ['demo', ...args]);
    break;
  case 'roomful':
    await become(['electron', 'cli', 'main.js'], args);
    break;
  case 'desktop': {
    // Electron's own starter downloads Electron when it is used first.
    const electron = join(root, 'node_modules', '.bin', 'electron');
    const shell = process.platform === 'win32';
    process.exitCode = spawnSync(electron, [root, ...args], { stdio: 'inherit', shell }).status ?? 1;
    break;
  }
  case 'package': {
    const builder = join(root, 'node_modules', '.bin', 'electron-builder');
    const shell = process.platform === 'win32';
    const builderArgs = ['--publish', 'never', ...args];
    process.exitCode = spawnSync(builder, builderArgs, { cwd: root, stdio: 'inherit', shell }).status ?? 1;
    break;
  }
  case 'bench':
    await become(['e2e', 'bench', 'main.js'], args);
    break;
  case 'test': {
    const bin = (name) => join(root, 'node_modules', '.bin', name);
    const check = (name, checkArgs) =>
      spawnSync(bin(name), checkArgs, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' }).status ===
      0;
    const named = args.length > 0;
    const checked =
      named ||
      [
        check('biome', ['check', '.']),
        check('tsc', ['-p', 'tsconfig.json']),
        check('tsc', ['-p', 'renderer/tsconfig.json']),
      ].every(Boolean);
    if (!checked) process.stderr.write('roomful: the lint or type check above failed; the tests still run.\n');
    process.env.ROOMFUL_CHECKS_FAILED = checked ? '' : '1';
    const passed = check('vitest', ['run', ...args]);
    process.exitCode = checked && passed ? 0 : 1;
    break;
  }
  default:
    process.stderr.write('usage: node scripts/run.mjs demo|test|bench|roomful|desktop|package|build [ARGS]\n');
    process.exitCode = 2;
}
