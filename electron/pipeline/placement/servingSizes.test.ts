import { describe, expect, it } from 'vitest';
import { servingSizes } from './servingSizes.ts';

const whole = { textEmbedding: { pooling: 'mean', wholeTexts: true } } as const;
const shape = { hiddenSize: 768, vocabularySize: 30_522, attentionHeads: 12, contextLength: 512 };

describe('the sizes of a model', () => {
  it('that writes text: four requests of 4096 tokens, in steps of 512', () => {
    const sizes = { contextLength: 4 * 4096, slots: 4, batch: 512, kvType: 'f16' };
    expect(servingSizes({ ...shape, contextLength: 131_072 }, {})).toEqual(sizes);
    expect(servingSizes({ ...shape, contextLength: 131_072 }, { contextLength: 100 }).batch).toBe(100);
  });

  it('that takes texts whole: a step holds the longest, which is what it was trained for', () => {
    const sizes = { contextLength: 16 * 512, slots: 16, batch: 512, kvType: 'f16' };
    expect(servingSizes({ ...shape, ...whole }, {})).toEqual(sizes);
    expect(servingSizes({ ...shape, ...whole }, { contextLength: 64, slots: 2 })).toMatchObject({
      contextLength: 128,
      batch: 64,
    });
  });

  it('that takes long texts whole: as long as a step stays small, unless asked otherwise', () => {
    const long = { ...shape, ...whole, contextLength: 8192 };
    const short = servingSizes(long, {}).batch;
    expect(short).toBe(4096);
    // Room for the logits of every token counts most in a large vocabulary.
    expect(servingSizes({ ...long, vocabularySize: 250_002 }, {}).batch).toBe(1024);
    expect(servingSizes(long, { contextLength: 8192 }).batch).toBe(8192);
  });
});
