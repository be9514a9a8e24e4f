/** Says that something has changed, not what; whoever listens looks by itself. */
export class Changes {
  readonly #listeners = new Set<() => void>();

  /** Calls `listener` after every change, until the function that it returns is called. */
  on(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
