import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { demoDraftPath, demoModelPath } from '../../e2e/testing/demoCorpus.ts';
import { Sampling } from '../wire/generated/roomful/v1/ring.ts';
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

const draftOptions = {
  path: demoDraftPath,
  layers: 2,
  contextLength: 256,
  slots: 1,
  batch: 64,
  threads: 1,
  gpuLayers: 0,
};
const drafted = { slot: 0, start: 0, tokens: Int32Array.of(400, 401), count: 2 };
const sampling = Sampling.fromPartial({ topP: 1, repetitionPenalty: 1, promptLength: 1 });

test('a draft model outlives its process; once closed it is loaded no more', async () => {
  const model = await keeper.openDraft(draftOptions);
  const before = await model.draft({ ...drafted, sampling });
  expect(before).toHaveLength(2);
  process.kill((await keeper.current()).pid ?? 0, 'SIGKILL');
  await vi.waitFor(async () => expect(await model.draft({ ...drafted, sampling })).toEqual(before));
  // Only read, to be gone on from.
  expect(await model.draft({ ...drafted, count: 0, sampling })).toHaveLength(0);
  const further = { ...drafted, start: 2, tokens: Int32Array.of(before[0] ?? 0), count: 1, sampling };
  expect(await model.draft(further)).toEqual(before.subarray(1));
  await model.close();
  await expect(model.draft({ ...drafted, sampling })).rejects.toMatchObject({ kind: 'HostClosed' });
});

test('a load that is given up leaves no model behind', async () => {
  const engine = await keeper.current();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const opening = engine.openDraft(draftOptions).catch((error: unknown) => error);
  vi.runAllTimers();
  vi.useRealTimers();
  expect(await opening).toMatchObject({ kind: 'HostTimedOut' });
  // The next one has another handle, and the first is closed once it has come.
  const model = await engine.openDraft(draftOptions);
  expect(await model.draft({ ...drafted, sampling })).toHaveLength(2);
  await model.close();
});
