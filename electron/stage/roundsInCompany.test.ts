import { expect, test } from 'vitest';
import { type GgmlType, ggmlType } from '../gguf/ggmlType.ts';
import { roundsInCompany, weightsRoundInCompany } from './roundsInCompany.ts';
import { demoOptions } from './testing/demoModel.ts';

const F32 = 0;
const Q4_0 = 2;
const Q8_0 = 8;
const Q4_K = 12;

const tensor = (id: number, ...dimensions: number[]): { type: GgmlType; dimensions: number[] } => {
  const type = ggmlType(id);
  if (type === undefined) throw new RangeError(`no type of ggml has id ${id}`);
  return { type, dimensions };
};
const rounds = (tensors: Record<string, ReturnType<typeof tensor>>): boolean =>
  weightsRoundInCompany(new Map(Object.entries(tensors)));

test('a row is computed alone where one matrix would round it otherwise in company', () => {
  const quantized = { 'blk.0.attn_norm.weight': tensor(F32, 64), 'blk.0.attn_q.weight': tensor(Q4_0, 64, 64) };
  expect(rounds(quantized)).toBe(false);
  expect(rounds({ ...quantized, 'blk.0.ffn_up.weight': tensor(Q8_0, 64, 64) })).toBe(true);
  expect(rounds({ ...quantized, 'blk.0.ffn_up.weight': tensor(Q4_K, 256, 64) })).toBe(true);
  // Looked up, or multiplied with as the head.
  const embedding = { 'token_embd.weight': tensor(Q8_0, 64, 512) };
  expect(rounds({ ...embedding, 'output.weight': tensor(Q4_0, 64, 512) })).toBe(false);
  expect(rounds(embedding)).toBe(true);
  // What llama.cpp insists on, where a stage has neither embedding nor head.
  expect(rounds({ ...quantized, 'token_embd.weight': tensor(F32, 64, 1) })).toBe(false);
});

test('on a device rows keep company; on a CPU a quantized cache leaves them alone', async () => {
  const options = demoOptions();
  expect(await roundsInCompany({ ...options, gpuLayers: 1 })).toBe('none');
  expect(await roundsInCompany({ ...options, kvType: 'q8_0' })).toBe('any');
  expect(await roundsInCompany(options)).toBe('any');
});
