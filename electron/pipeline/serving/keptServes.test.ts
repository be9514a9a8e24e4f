import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeptServes, mergeServes } from './keptServes.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-serves-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = (member: string): Promise<KeptServes> => KeptServes.open(join(folder, `${member}.json`));
const serve = (modelId: string, members: string[]) => ({
  modelId,
  request: { model: 'f'.repeat(64), slots: 2, aliases: [`${modelId}-too`] },
  members,
});
const names = (kept: KeptServes): string[] => kept.list().map(({ modelId }) => modelId);

test('who was away while a model was stopped hears of it, also after a restart of both', async () => {
  const [ada, bob] = [await open('ada'), await open('bob')];
  await bob.keep(serve('qwen', ['ada', 'bob']));
  await ada.learn(bob.news(), 'ada');
  expect(names(ada)).toEqual(['qwen']);
  expect(ada.list()[0]).toEqual(bob.list()[0]);

  expect(await ada.forget('qwen-too')).toBe(true);
  const [adaAgain, bobAgain] = [await open('ada'), await open('bob')];
  expect(names(bobAgain)).toEqual(['qwen']);
  await bobAgain.learn(adaAgain.news(), 'bob');
  expect(names(bobAgain)).toEqual([]);
  // And not the other way round.
  await adaAgain.learn(bobAgain.news(), 'ada');
  expect(names(adaAgain)).toEqual([]);
});

test('what is served anew is another serving: the stop of the one before does not end it', async () => {
  const [ada, bob] = [await open('ada'), await open('bob')];
  await bob.keep(serve('qwen', ['ada', 'bob']));
  await ada.learn(bob.news(), 'ada');
  await ada.forget('qwen');
  await ada.keep(serve('qwen', ['ada', 'bob']));
  await bob.learn(ada.news(), 'bob');
  expect(bob.list()).toEqual(ada.list());
  expect(names(bob)).toEqual(['qwen']);

  // Served once more without a stop: the older one is not there any more for anybody.
  const before = bob.news();
  await bob.keep(serve('qwen', ['bob']));
  await ada.learn(before, 'ada');
  await ada.learn(bob.news(), 'ada');
  expect(names(ada)).toEqual([]);
});

test('only who took part keeps what others have served', () => {
  const theirs = { serves: [{ id: '1', ...serve('qwen', ['ada']) }], stopped: ['0'] };
  expect(mergeServes({ serves: [], stopped: [] }, theirs, 'bob')).toEqual({ serves: [], stopped: ['0'] });
  expect(mergeServes({ serves: [], stopped: ['0'] }, theirs, 'ada')).toEqual({ serves: theirs.serves, stopped: ['0'] });
});

test('news that is not understood changes nothing; neither does a file', async () => {
  const ada = await open('ada');
  await ada.keep(serve('qwen', ['ada']));
  const bad = { id: '2', modelId: 'other', members: ['ada'] };
  await expect(ada.learn({ serves: [{ ...bad, request: '{' }], stopped: [] }, 'ada')).rejects.toThrow();
  await expect(ada.learn({ serves: [{ ...bad, request: '{"odd":1}' }], stopped: [] }, 'ada')).rejects.toThrow();
  expect(names(ada)).toEqual(['qwen']);
  await writeFile(join(folder, 'ada.json'), 'not JSON');
  expect(names(await open('ada'))).toEqual([]);
});
