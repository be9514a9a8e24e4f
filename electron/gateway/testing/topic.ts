import type { TopicSource } from '../window/memberState.ts';

/** A topic that a test turns. */
export class Topic<V> implements TopicSource<V> {
  value: V;
  readonly #listeners = new Set<(value: V) => void>();

  constructor(value: V) {
    this.value = value;
  }

  onChange(listener: (value: V) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  set(value: V): void {
    this.value = value;
    for (const listener of this.#listeners) listener(value);
  }
}
