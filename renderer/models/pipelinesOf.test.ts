import { expect, test } from 'vitest';
import { pipeline } from '../../electron/gateway/testing/memberFixtures.ts';
import { otherPipelines, pipelinesOf } from './pipelinesOf.ts';

const llama = { id: 'c1', name: 'llama' };
const namesake = { id: 'c2', name: 'llama' };

test('a pipeline belongs to the model of its content, not to another of the same name', () => {
  const serving = pipeline({ contentId: 'c1', modelId: 'llama' });
  expect(pipelinesOf(llama, [serving])).toEqual([serving]);
  expect(pipelinesOf(namesake, [serving])).toEqual([]);
});

test('while it is being planned it is known by what it was asked for', () => {
  const planning = [pipeline({ modelId: 'c2', state: 'planning' }), pipeline({ modelId: 'llama', state: 'planning' })];
  expect(pipelinesOf(namesake, planning)).toEqual(planning);
  expect(pipelinesOf(llama, planning)).toEqual(planning.slice(1));
});

test('what serves of models that nobody lists is shown all the same, each model once', () => {
  const serving = [
    pipeline({ id: '1', contentId: 'c1', modelId: 'llama' }),
    pipeline({ id: '2', contentId: 'c3', modelId: 'lost' }),
    pipeline({ id: '3', contentId: 'c3', modelId: 'lost' }),
    pipeline({ id: '4', contentId: 'c4', modelId: 'ended', state: 'stopped' }),
  ];
  expect(otherPipelines([llama], serving)).toEqual([{ modelId: 'lost', pipelines: serving.slice(1, 3) }]);
});
