import { describe, expect, test } from 'vitest';
import { equalLayers } from '../equalLayers.ts';
import type { Member } from '../member.ts';
import type { ModelShape } from '../modelShape.ts';
import { plan } from '../plan.ts';
import { runMode } from './runMode.ts';

const member = (more: Partial<Member>): Member => ({
  address: 'a',
  backend: 'Cuda',
  memoryBytes: 100e6,
  build: 'c1',
  ...more,
});
const dense = equalLayers(8, 10e6);
const mixture: ModelShape = {
  ...dense,
  experts: { count: 8, usedPerToken: 2 },
  layers: dense.layers.map((layer) => ({ ...layer, expertBytes: 9e6 })),
};
const modeOf = (model: ModelShape, ...members: Member[]) =>
  plan(members, model, { batch: 1, contextLength: 256, headroom: 0, engineHostBytes: 0 }).runMode;

describe('the way in which a model runs', () => {
  test('on one GPU, or in unified memory', () => {
    expect(modeOf(dense, member({}))).toEqual({
      kind: 'Gpu',
      tag: 'GPU',
      line: 'Local: whole model on one GPU via llama.cpp (Cuda)',
    });
    expect(modeOf(dense, member({ backend: 'Metal' }))).toMatchObject({
      kind: 'Gpu',
      line: 'Local: whole model in unified memory via llama.cpp (Metal)',
    });
  });

  test('in plain RAM', () => {
    expect(modeOf(dense, member({ backend: 'Cpu' }))).toEqual({
      kind: 'CpuOnly',
      tag: 'CPU',
      line: 'Local: whole model in plain RAM via llama.cpp (no GPU)',
    });
  });

  test('on a GPU that its own RAM helps', () => {
    const small = member({ memoryBytes: 20e6, hostMemoryBytes: 100e6 });
    expect(modeOf(dense, small)).toEqual({
      kind: 'CpuOffload',
      tag: 'GPU+CPU',
      line: 'Local: 76 % of the model in plain RAM, the rest on the GPU via llama.cpp (Cuda + CPU)',
    });
    expect(modeOf(mixture, small)).toEqual({
      kind: 'MoeOffload',
      tag: 'MoE',
      line: 'Local: experts partly in plain RAM, the rest on the GPU via llama.cpp (Cuda + CPU)',
    });
    // 8 MB are not experts, and do not fit 5.
    expect(modeOf(mixture, { ...small, memoryBytes: 5e6 })).toMatchObject({ kind: 'CpuOffload' });
  });

  test('as a pipeline', () => {
    const members = [member({ memoryBytes: 55e6 }), member({ address: 'b', memoryBytes: 55e6 })];
    expect(modeOf(dense, ...members)).toEqual({
      kind: 'Pipeline',
      tag: 'PP',
      line: 'Cluster: pipeline-parallel across 2 nodes via llama.cpp (4 + 4 layers, 1 hop)',
    });
  });

  test('tensor-parallel, which vLLM does', () => {
    expect(runMode({ engine: 'vllm', nodes: 4, tensorParallel: 2 })).toEqual({
      kind: 'TensorParallel',
      tag: 'TP',
      line: 'Cluster: tensor-parallel across 4 nodes via vLLM (TP=2)',
    });
    expect(runMode({ engine: 'vllm', nodes: 1, tensorParallel: 8 }).line).toBe(
      'Local: tensor-parallel on 1 node via vLLM (TP=8)',
    );
  });

  test('not at all, where it does not fit', () => {
    expect(modeOf(dense, member({ memoryBytes: 5e6 }))).toBeNull();
  });
});
