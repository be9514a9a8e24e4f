/** What has been started, to be ended in the opposite order. */
export class Closers {
  readonly #closers: (() => Promise<void>)[] = [];

  add(...closers: readonly (() => Promise<void>)[]): void {
    this.#closers.push(...closers);
  }

  /** Ends everything, the newest first, also where some of it fails; then rejects with the first failure. */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (const closer of this.#closers.splice(0).reverse()) {
      await closer().catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
  }
}
