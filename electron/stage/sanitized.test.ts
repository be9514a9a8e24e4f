import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateEmbedder } from '../../e2e/models/generateEmbedder.ts';
import { cutStage } from '../gguf/cutStage.ts';
import { openModel } from '../gguf/openModel.ts';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { demoPath } from './testing/demoModel.ts';
import { runScenario } from './testing/runScenario.ts';

const sanitizedAddon = fileURLToPath(new URL('../../build/native-asan/roomful.node', import.meta.url));
const folder = temporaryFolder();
let env: Record<string, string>;

// With Clang, on macOS, the runtime has another name; the addon's code is the same.
const isLinux = process.platform === 'linux';
if (!isLinux) process.stderr.write('SKIPPED: the address sanitizer runs on Linux only\n');

beforeAll(async () => {
  await folder.make();
  if (!isLinux) return;
  // The sanitizer must come first in the process, and finds what it wraps of the C++ library only if that is there too.
  const preload = ['libasan.so', 'libstdc++.so'].map((name) =>
    execFileSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim(),
  );
  // Node frees the handle of a promise when it is settled; those of a worker that was terminated never are.
  const suppressions = folder.at('leaks.txt');
  await writeFile(suppressions, 'leak:napi_create_promise\n');
  env = {
    LD_PRELOAD: preload.join(':'),
    ASAN_OPTIONS: 'detect_leaks=1',
    LSAN_OPTIONS: `suppressions=${suppressions}:print_suppressions=0`,
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
  };
});
afterAll(folder.remove);

describe.skipIf(!isLinux)('the addon under the address and undefined-behaviour sanitizers', () => {
  it('is really built with them: without their runtime it refuses to load', async () => {
    const { exit, output } = await runScenario('idle', { addon: sanitizedAddon });
    expect(exit).not.toBe(0);
    expect(output).toMatch(/ASan runtime does not come first/);
  });

  it.each(['everything', 'drop', 'worker'])('has nothing to report, leaks included: %s', async (scenario) => {
    expect(await runScenario(scenario, { addon: sanitizedAddon, env })).toEqual({ exit: 0, output: '' });
  });

  it('has nothing to report on sampling, leaks included', async () => {
    const { exit, output } = await runScenario('sampling', { addon: sanitizedAddon, env });
    // llama.cpp prints a grammar that it cannot read, past its log.
    expect({ exit, output: output.replace(/^parse: error parsing grammar: .*\n\n.*\n/gm, '') }).toEqual({
      exit: 0,
      output: '',
    });
  });

  it('has nothing to report on texts and last rows, leaks included', async () => {
    const shape = { layers: 2, width: 64, heads: 4, feedForward: 128, contextLength: 64, pooling: 1, seed: 5 };
    const arg = await generateEmbedder(folder.at('bert.gguf'), shape);
    const options = { addon: sanitizedAddon, env };
    expect(await runScenario('texts', { ...options, arg })).toEqual({ exit: 0, output: '' });
    expect(await runScenario('lastRow', options)).toEqual({ exit: 0, output: '' });
  });

  // The leak check cannot walk V8's memory after process.exit, and what an exit leaves to the system is no leak.
  it.each(['exitWhileComputing', 'exitWhileLoading'])('has nothing to report but leaks: %s', async (scenario) => {
    const withoutLeaks = { ...env, ASAN_OPTIONS: 'detect_leaks=0' };
    const options = { addon: sanitizedAddon, env: withoutLeaks };
    expect(await runScenario(scenario, options)).toEqual({ exit: 0, output: '' });
  });

  it('has nothing to report on activations at odd addresses', async () => {
    const model = await openModel(demoPath);
    const changes = [];
    for (const range of [
      { start: 0, end: 6 },
      { start: 6, end: 12 },
    ]) {
      const { path, role, layers, embedding, vocabulary } = await cutStage(
        model,
        range,
        folder.at(`${range.start}.gguf`),
      );
      changes.push({ path, role, layers, embedding, vocabulary });
    }
    const options = { addon: sanitizedAddon, env, arg: JSON.stringify(changes) };
    expect(await runScenario('pipeline', options)).toEqual({ exit: 0, output: '' });
  });
});
