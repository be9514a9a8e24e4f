import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateModel } from './models/generateModel.ts';
import { demoModelPath } from './testing/demoCorpus.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const MOST_BYTES = 300e6;

let folder: string;
let home: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'roomful bad models ✗ '));
  home = mkdtempSync(join(tmpdir(), 'roomful-home-'));
});
afterAll(() => {
  for (const path of [folder, home]) rmSync(path, { recursive: true, force: true });
});

/** A GGUF header up to its counts, and what follows. */
function gguf(tensors: bigint, keys: bigint, rest: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(24);
  head.write('GGUF');
  head.writeUInt32LE(3, 4);
  head.writeBigUInt64LE(tensors, 8);
  head.writeBigUInt64LE(keys, 16);
  return Buffer.concat([head, rest, Buffer.alloc(4096)]);
}

function length(bytes: bigint): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(bytes);
  return buffer;
}

function file(name: string, content: Buffer | string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const LFS_POINTER =
  'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 5398688\n';

const cases: [string, () => string | Promise<string>, RegExp][] = [
  ['no GGUF', () => file('notes.gguf', 'Dear diary, today'), /not a GGUF/],
  ['an empty file', () => file('empty.gguf', ''), /empty/],
  ['a truncated one', () => file('half.gguf', readFileSync(demoModelPath).subarray(0, 2_000_000)), /truncated/],
  ['one truncated in its header', () => file('head.gguf', readFileSync(demoModelPath).subarray(0, 9000)), /truncated/],
  ['an LFS pointer', () => file('pointer.gguf', LFS_POINTER), /LFS/],
  ['2^60 tensors', () => file('tensors.gguf', gguf(2n ** 60n, 1n)), /tensors/],
  ['2^60 keys', () => file('keys.gguf', gguf(1n, 2n ** 60n)), /keys|metadata/],
  ['a key of 2^40 bytes', () => file('string.gguf', gguf(1n, 1n, length(2n ** 40n))), /damaged|truncated/],
  ['a missing shard', missingShard, /00002-of-00003/],
];

async function missingShard(): Promise<string> {
  const shape = { layers: 4, width: 64, heads: 4, kvHeads: 2, feedForward: 128, vocabulary: 300, tied: true, seed: 1 };
  const [first, second] = await generateModel(join(folder, 'set.gguf'), { architecture: 'llama', shards: 3, ...shape });
  rmSync(second ?? '');
  return first ?? '';
}

test.each(cases)('%s: one clear line, exit code not 0, nothing left, little memory', async (_, make, words) => {
  const model = await make();
  const { code, out, err, peakBytes } = await runDemo(model);
  expect(code).toBe(1);
  expect(out).toBe('');
  expect(err.trimEnd().split('\n')).toHaveLength(1);
  expect(err).toMatch(/^roomful: /);
  expect(err).toMatch(words);
  expect(peakBytes).toBeGreaterThan(0);
  expect(peakBytes).toBeLessThan(MOST_BYTES);
  expect(readdirSync(home)).toEqual([]);
});

/** Runs the demo and watches the high-water mark of its memory (Linux; elsewhere it counts as met). */
function runDemo(model: string): Promise<{ code: number | null; out: string; err: string; peakBytes: number }> {
  const args = ['scripts/run.mjs', 'demo', '--exit', '--model', model];
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ROOMFUL_HOME: home } });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  let peakBytes = existsSync('/proc/self/status') ? 0 : 1;
  const watch = setInterval(() => {
    try {
      const kilobytes = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
      peakBytes = Math.max(peakBytes, Number(kilobytes ?? 0) * 1024);
    } catch {
      // It has ended.
    }
  }, 5);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearInterval(watch);
      resolve({ code, out, err, peakBytes });
    });
  });
}
