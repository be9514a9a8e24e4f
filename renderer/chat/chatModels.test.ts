import { expect, it } from 'vitest';
import { pipeline } from '../../electron/gateway/testing/memberFixtures.ts';
import { chatModels } from './chatModels.ts';

it('leaves out models that write no text, and those that do not serve', () => {
  const pipelines = [
    pipeline({ id: 'a', modelId: 'bert', embedsOnly: true }),
    pipeline({ id: 'b' }),
    pipeline({ id: 'c' }),
    pipeline({ id: 'd', modelId: 'other', state: 'loading' }),
  ];
  expect(chatModels(pipelines)).toEqual(['demo']);
  expect(chatModels([])).toEqual([]);
});
