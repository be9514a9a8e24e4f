import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { LOCAL_TOKEN, listen } from '../../electron/gateway/testing/demoGateway.ts';
import { servedModels } from '../../electron/gateway/testing/wholeModel.ts';

const root = join(import.meta.dirname, '..', '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
/** The examples leave files behind, so they run in a folder that npm takes for the checkout. */
const folder = mkdtempSync(join(tmpdir(), 'roomful-readme-'));
for (const name of ['package.json', 'scripts']) symlinkSync(join(root, name), join(folder, name));
afterAll(() => rmSync(folder, { recursive: true }));

/** The examples build first where a source has changed. */
const timeout = 300_000;

/** What the shell example of the README that holds `part` prints. */
async function example(part: string, env: Record<string, string> = {}): Promise<string> {
  const block = readme
    .split('```sh\n')
    .map((text) => text.split('```')[0] ?? '')
    .find((text) => text.includes(part));
  if (block === undefined) throw new Error(`the README has no example with ${part}`);
  const { stdout } = await promisify(execFile)('sh', ['-ec', block], { cwd: folder, env: { ...process.env, ...env } });
  return stdout;
}

test('the example of `roomful plan` runs as it is written', { timeout }, async () => {
  const table = await example('npm run -s roomful -- plan');
  expect(table).toMatch(/^ClusterRequired, 1 hop\n/);
  expect(table).toMatch(/\na1 +0-39\nb2 +40-79\n/);
});

test('the example of the JSON-RPC call runs as it is written', { timeout }, async () => {
  const gateway = await listen({ models: servedModels() });
  try {
    const answer = await example('clusterPlan', { GATEWAY: `http://127.0.0.1:${gateway.port}`, KEY: LOCAL_TOKEN });
    expect(JSON.parse(answer)).toMatchObject({
      id: 1,
      result: {
        fit: 'ClusterRequired',
        stages: [
          { address: 'a1', start_layer: 0, end_layer: 39 },
          { address: 'b2', start_layer: 40, end_layer: 79 },
        ],
      },
    });
  } finally {
    await gateway.app.close();
  }
});
