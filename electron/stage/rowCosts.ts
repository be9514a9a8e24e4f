/** Rows of a block: kernels of quantized weights on a CPU take so many at once, and those left over one by one (repack.cpp of ggml-cpu). */
export const BLOCK_ROWS = 4;

/** What a step of few rows costs a stage, by how many there are, ms: as it was measured for up to a block, in blocks beyond. */
export class RowCosts {
  readonly #measured: readonly number[];

  /** `measured` holds the cost of 1, 2, ... BLOCK_ROWS rows. */
  constructor(measured: readonly number[]) {
    this.#measured = measured;
  }

  ms(rows: number): number {
    const blocks = Math.floor(rows / BLOCK_ROWS);
    return blocks * (this.#measured[BLOCK_ROWS - 1] ?? 0) + (this.#measured[(rows % BLOCK_ROWS) - 1] ?? 0);
  }
}
