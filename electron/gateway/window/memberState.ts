import type { MemberApi, MemberMethod, MemberState, MethodParams, MethodResult } from '../memberApi.ts';

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

/** What answers each method of the contract. */
export type MemberActions = { [M in MemberMethod]: (params: MethodParams<M>) => Promise<MethodResult<M>> };

/** The contract as the member itself keeps it. What `actions` lack is refused. */
export function localMemberApi(store: MemberStateStore, actions: Partial<MemberActions> = {}): MemberApi {
  const all: Partial<MemberActions> = { ...actions, state: async () => store.state };
  return {
    call: async (method, params) => {
      const action = all[method];
      if (action === undefined) throw new Error(`This member has no method '${method}'.`);
      return action(params);
    },
    subscribe: (_topic, listener) => {
      listener(store.state);
      return store.onChange(listener);
    },
  };
}
