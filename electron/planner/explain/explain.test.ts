import { describe, expect, test } from 'vitest';
import { equalLayers } from '../equalLayers.ts';
import type { Member } from '../member.ts';
import { plan } from '../plan.ts';

const model = { ...equalLayers(10, 1e9), name: 'Ten' };
const member = (address: string, gigabytes: number, more: Partial<Member> = {}): Member => ({
  address,
  backend: 'Cuda',
  memoryBytes: gigabytes * 1e9,
  bandwidth: 500e9,
  build: 'c1',
  ...more,
});
const options = { contextLength: 256, batch: 1, slots: 1, headroom: 0, engineHostBytes: 0 };

describe('a plan says', () => {
  test('what it needs, who is out, why a cluster, who holds what, what it will do', () => {
    const room = [
      member('10.0.0.1', 7, { name: 'ada' }),
      member('10.0.0.2', 7, { name: 'bob' }),
      member('10.0.0.3', 7, { name: 'cleo', build: 'c0' }),
      member('10.0.0.4', 2, { name: 'dan' }),
    ];
    expect(plan(room, model, options).explain).toEqual([
      'Ten takes 10.0 GB: 10.0 GB weights in 10 layers, 0 B KV cache for 256 tokens over 1 slot, 2.1 KB buffers.',
      'The members run 2 builds of llama.cpp, and only equal ones serve together: those that run c1 serve the model best.',
      'cleo is left out: it runs llama.cpp c0, the pool runs c1.',
      'No member can hold it alone; the largest, ada, has room for 7.0 GB.',
      'These hold it together: ada layers 0 to 4, bob layers 5 to 9. That is 1 hop, the fewest possible.',
      'Not needed: dan.',
      'Predicted: 48.8 tokens/s for one request (21 ms a token, 0.5 ms of it on the network), 48.8 for 1 at once; ' +
        'first token of a 512-token prompt after 5.1 s.',
    ]);
  });

  test('what attention takes besides, where a member has no graphics card', () => {
    const attends = { ...model, attentionHeads: 32, hiddenSize: 2048 };
    const needOf = (room: Member[]) => plan(room, attends, { ...options, contextLength: 4096, batch: 512 }).explain[0];
    const more = /buffers, and for attention 222.3 MB more on each member without a graphics card\.$/;
    expect(needOf([member('a', 20), member('b', 20, { backend: 'Cpu' })])).toMatch(more);
    expect(needOf([member('a', 20)])).toMatch(/buffers\.$/);
  });

  test('whose build counts where builds differ', () => {
    const mixed = [member('a', 12), member('b', 6, { name: 'bob', build: 'c0' })];
    const lineOf = (more: object, room = mixed) =>
      plan(room, model, { ...options, ...more }).explain.find((line) => line.startsWith('The members run'));
    const line = 'The members run 2 builds of llama.cpp, and only equal ones serve together';
    expect(lineOf({})).toBe(`${line}: those that run c1 serve the model best.`);
    expect(lineOf({ coordinator: 'b' })).toBe(`${line}: bob leads, so c0 it is.`);
    const small = [member('a', 7), member('b', 6, { build: 'c0' })];
    expect(lineOf({}, small)).toBe(`${line}; none holds the model, c1 comes nearest in GPU memory.`);
    expect(lineOf({ referenceCommit: 'c0' })).toBeUndefined();
    expect(lineOf({ excluded: ['b'] })).toBeUndefined();
  });

  test('what is missing and what would help', () => {
    const lines = plan([member('a', 4), member('b', 3)], model, { ...options, kvType: 'q8_0' }).explain;
    expect(lines.slice(1)).toEqual([
      // Beside the buffers a holds 3 layers and b 2.
      'It does not fit: room for 5.0 GB is missing.',
      'Another member with a graphics card that shares 5.0 GB would do.',
      'a sharing 8.0 GB would do.',
      'A quant of 64 % of the size would do.',
    ]);
  });

  test('that speeds are guessed where nobody measured', () => {
    const { bandwidth: _, ...unmeasured } = member('a', 20);
    expect(plan([unmeasured], model, options).explain.at(-1)).toBe('The speed of a is guessed, not measured.');
  });

  test('every line is one plain line', () => {
    const room = [member('a', 7), member('b', 7, { paused: true }), member('c', 0.5), member('d', 7)];
    for (const line of plan(room, model, options).explain) expect(line).toMatch(/^[^\n]+\.$/);
  });
});
