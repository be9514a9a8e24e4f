import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout, from dist/e2e/bench. */
const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface LlamaPeer {
  /** Programs. */
  rpcServer: string;
  server: string;
}

const TARGETS = ['ggml-rpc-server', 'llama-server'];
/** Everything that neither program needs is left out; the CPU's own instructions are in, as a person would build it. */
const FLAGS = [
  '-DCMAKE_BUILD_TYPE=Release',
  '-DGGML_RPC=ON',
  '-DGGML_NATIVE=ON',
  '-DBUILD_SHARED_LIBS=OFF',
  '-DLLAMA_OPENSSL=OFF',
  '-DLLAMA_BUILD_TESTS=OFF',
  '-DLLAMA_BUILD_EXAMPLES=OFF',
  '-DLLAMA_BUILD_APP=OFF',
  '-DLLAMA_BUILD_UI=OFF',
  '-DLLAMA_USE_PREBUILT_UI=OFF',
];

/**
 * llama.cpp's own programs for inference over several machines, of the very release that Roomful runs: built once from the
 * source bundle that node-llama-cpp ships, and kept in the checkout's cache. Needs git, cmake and a C++ compiler.
 */
export async function llamaPeer(): Promise<LlamaPeer> {
  const folder = join(root, '.cache', 'bench');
  const [source, build] = [join(folder, 'llama.cpp'), join(folder, 'llama.cpp-build')];
  const peer = { rpcServer: join(build, 'bin', 'ggml-rpc-server'), server: join(build, 'bin', 'llama-server') };
  const llama = join(root, 'node_modules', 'node-llama-cpp', 'llama');
  const { release } = JSON.parse(readFileSync(join(llama, 'binariesGithubRelease.json'), 'utf8'));
  const stamp = join(build, 'roomful-release');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === release) return peer;
  mkdirSync(folder, { recursive: true });
  if (!existsSync(source)) {
    const partial = `${source}.partial`;
    rmSync(partial, { recursive: true, force: true });
    await run('git', ['clone', '--quiet', join(llama, 'gitRelease.bundle'), partial]);
    renameSync(partial, source);
  }
  process.stderr.write('building llama.cpp from source, once; this takes ten minutes and more ...\n');
  await run('cmake', ['-S', source, '-B', build, ...FLAGS]);
  await run('cmake', ['--build', build, '--parallel', String(cpus().length), '--target', ...TARGETS]);
  writeFileSync(stamp, release);
  return peer;
}

function run(command: string, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 2, 2] });
    child.once('error', (error) => reject(new Error(`${command} could not be started: ${error.message}`)));
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${command} ${args.join(' ')} failed.`))));
  });
}
