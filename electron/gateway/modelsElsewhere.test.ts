import { expect, test } from 'vitest';
import { heldModels, modelsElsewhere } from './modelsElsewhere.ts';
import { libraryModel } from './testing/memberFixtures.ts';

const held = (...names: string[]) => heldModels(names.map((name) => libraryModel(name)));

test('only what is as it was is told to others', () => {
  const models = [
    libraryModel('good'),
    libraryModel('gone', { state: 'gone' }),
    libraryModel('old', { state: 'changed' }),
  ];
  expect(heldModels(models).map(({ id }) => id)).toEqual(['good']);
});

test('what others have is listed once, by name, with everyone who has it', () => {
  const own = [libraryModel('here')];
  const found = modelsElsewhere(own, [
    { holder: 'lap', models: held('zebra', 'llama', 'here') },
    { holder: 'attic', models: held('llama') },
    { holder: 'empty', models: [] },
  ]);
  expect(found.map(({ id, holders }) => [id, holders])).toEqual([
    ['llama', ['attic', 'lap']],
    ['zebra', ['lap']],
  ]);
  expect(found[0]).toMatchObject({ name: 'llama', layers: 32, bytes: 4.9e9 });
});

test('what this machine has no longer as it was is to be had from others', () => {
  const own = [libraryModel('llama', { state: 'damaged' })];
  expect(modelsElsewhere(own, [{ holder: 'lap', models: held('llama') }]).map(({ id }) => id)).toEqual(['llama']);
});
