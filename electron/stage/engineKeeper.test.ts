import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { demoModelPath } from '../../e2e/testing/demoCorpus.ts';
import { EngineKeeper } from './engineKeeper.ts';
import type { HostError } from './hostError.ts';
import { nodeLauncher } from './nodeLauncher.ts';

const lost: HostError[] = [];
let keeper: EngineKeeper;

beforeAll(async () => {
  keeper = await EngineKeeper.start(nodeLauncher, (error) => lost.push(error));
});
afterAll(() => keeper.close());

const options = { addSpecial: false, parseSpecial: true };

test('a tokenizer outlives the process that it was opened in', async () => {
  const vocabulary = await keeper.openVocabulary(demoModelPath);
  const before = [...(await vocabulary.tokenize('What is a hop?', options))];
  expect(before.length).toBeGreaterThan(2);
  const { pid } = await keeper.current();
  process.kill(pid ?? 0, 'SIGKILL');
  const during = vocabulary.tokenize('What is a hop?', options);
  expect([...(await during)]).toEqual(before);
  await vi.waitFor(() => expect(lost).toHaveLength(1));
  expect(lost[0]?.kind).toBe('HostCrashed');
  expect((await keeper.current()).pid).not.toBe(pid);
  expect([...(await vocabulary.tokenize('What is a hop?', options))]).toEqual(before);
  expect(await vocabulary.grammarProblem('root ::= "a"')).toBeNull();
  expect(await vocabulary.grammarProblem('start ::= "a"')).toMatch(/root/);
  await vocabulary.close();
});

test('a vocabulary whose process is gone closes without an error', async () => {
  const vocabulary = await keeper.openVocabulary(demoModelPath);
  process.kill((await keeper.current()).pid ?? 0, 'SIGKILL');
  await vocabulary.close();
});

test('a file without a tokenizer is refused, and the process lives on', async () => {
  const { pid } = await keeper.current();
  await expect(keeper.openVocabulary(join(import.meta.dirname, 'engineKeeper.test.ts'))).rejects.toMatchObject({
    kind: 'HostRefused',
  });
  expect((await keeper.current()).pid).toBe(pid);
});
