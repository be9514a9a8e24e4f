import { expect, test } from 'vitest';
import { equalLayers } from '../../planner/equalLayers.ts';
import type { OpenedModel } from '../forming/modelFiles.ts';
import { refuseDraft } from './refuseDraft.ts';

function opened(name: string, { vocabularySize = 100, stateBytesPerSlot = 0 } = {}): OpenedModel {
  const shape = { ...equalLayers(2, 1000), vocabularySize };
  const layers = shape.layers.map((layer) => ({ ...layer, stateBytesPerSlot }));
  const summary = { name } as OpenedModel['summary'];
  return { id: name, summary, shape: { ...shape, layers }, holders: [], writeVocabulary: async () => {} };
}

test('a draft model must speak like the other, and neither may keep a state that cannot be cut', () => {
  const [plain, recurrent] = [opened('plain'), opened('mamba', { stateBytesPerSlot: 64 })];
  expect(() => refuseDraft(plain, opened('small'))).not.toThrow();
  expect(() => refuseDraft(plain, opened('other', { vocabularySize: 99 }))).toThrow(/other cannot draft/);
  expect(() => refuseDraft(plain, recurrent)).toThrow(/mamba keeps a state/);
  expect(() => refuseDraft(recurrent, plain)).toThrow(/mamba keeps a state/);
});
