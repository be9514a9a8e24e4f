import type { TextEmbedding } from '../../planner/modelShape.ts';
import { RunEmbed } from '../../wire/generated/roomful/v1/ring.ts';

/** What a text's vector is: the mean of its tokens' hidden states, that of the last one, or what the model pools itself. */
export type VectorOf = 'mean' | 'last' | 'text';

/** What the vectors of a model are; those of one that writes text are means. */
export function vectorOf(embedding: TextEmbedding | null | undefined): VectorOf {
  if (embedding?.wholeTexts) return 'text';
  return embedding?.pooling === 'last' ? 'last' : 'mean';
}

/** The vector of one text, of no particular length, from what comes back of its runs in order. */
export class TextVector {
  readonly #length: number;
  readonly #of: VectorOf;
  #sum = new Float64Array(0);
  #position = 0;

  /** `length` is in tokens. */
  constructor(length: number, of: VectorOf) {
    this.#length = length;
    this.#of = of;
  }

  /** What a run is to give that ends before token `end`. */
  asked(end: number): RunEmbed {
    if (this.#of === 'text') return RunEmbed.RUN_EMBED_POOLED;
    if (this.#of === 'mean') return RunEmbed.RUN_EMBED_SUM;
    return end < this.#length ? RunEmbed.RUN_EMBED_NONE : RunEmbed.RUN_EMBED_LAST;
  }

  /** Takes what the run up to `position` gave; true once that was the last one. */
  add(position: number, values: readonly number[]): boolean {
    if (this.#sum.length === 0) this.#sum = new Float64Array(values.length);
    for (const [index, value] of values.entries()) this.#sum[index] = (this.#sum[index] ?? 0) + value;
    this.#position = position;
    return this.#position >= this.#length;
  }

  get values(): Float32Array {
    const rows = this.#of === 'mean' ? this.#length : 1;
    return Float32Array.from(this.#sum, (value) => value / rows);
  }
}
