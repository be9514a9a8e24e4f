/** The mean of the hidden states of one text, from the sums of its chunks as they come back in order. */
export class HiddenMean {
  readonly #length: number;
  #sum = new Float64Array(0);
  #position = 0;

  /** `length` is in tokens. */
  constructor(length: number) {
    this.#length = length;
  }

  /** Takes the sum over the tokens up to `position`; true once it is that of all. */
  add(position: number, sum: readonly number[]): boolean {
    if (this.#sum.length === 0) this.#sum = new Float64Array(sum.length);
    for (const [index, value] of sum.entries()) this.#sum[index] = (this.#sum[index] ?? 0) + value;
    this.#position = position;
    return this.#position >= this.#length;
  }

  get mean(): Float32Array {
    return Float32Array.from(this.#sum, (value) => value / this.#length);
  }
}
