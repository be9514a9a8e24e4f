import type { MemberApi, MemberState } from '../memberApi.ts';

/** The state that windows see: one value, replaced whole, its listeners told of every change. */
export class MemberStateStore {
  #state: MemberState;
  readonly #listeners = new Set<(state: MemberState) => void>();

  constructor(initial: MemberState) {
    this.#state = initial;
  }

  get state(): MemberState {
    return this.#state;
  }

  /** `change` returns the next state, or the same object where nothing changed. */
  update(change: (state: MemberState) => MemberState): void {
    const next = change(this.#state);
    if (next === this.#state) return;
    this.#state = next;
    for (const listener of [...this.#listeners]) listener(next);
  }

  /** Tells of later changes only. */
  onChange(listener: (state: MemberState) => void): () => void {
    // A function of its own, so that one listener subscribed twice is told twice.
    const own = (state: MemberState) => listener(state);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }
}

/** The contract as the member itself keeps it. */
export function localMemberApi(store: MemberStateStore): MemberApi {
  return {
    call: async () => store.state,
    subscribe: (_topic, listener) => {
      listener(store.state);
      return store.onChange(listener);
    },
  };
}
