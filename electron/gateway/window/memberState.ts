import type {
  MemberApi,
  MemberMethod,
  MemberState,
  MemberTopic,
  MemberTopics,
  MethodParams,
  MethodResult,
} from '../memberApi.ts';

/** Where a topic's values come from. */
export interface TopicSource<V> {
  readonly value: V;
  /** Tells of later changes only, until the function that it returns is called. */
  onChange(listener: (value: V) => void): () => void;
}

/** The state that windows see: one value, replaced whole, its listeners told of every change. */
export class MemberStateStore implements TopicSource<MemberState> {
  #state: MemberState;
  readonly #listeners = new Set<(state: MemberState) => void>();

  constructor(initial: MemberState) {
    this.#state = initial;
  }

  get state(): MemberState {
    return this.#state;
  }

  get value(): MemberState {
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

/** Where the value of each topic of the contract comes from. */
export type MemberTopicSources = { [T in MemberTopic]: TopicSource<MemberTopics[T]> };

/** The contract as the member itself keeps it. What `topics` and `actions` lack is refused. */
export function localMemberApi(
  topics: Partial<MemberTopicSources> & Pick<MemberTopicSources, 'state'>,
  actions: Partial<MemberActions> = {},
): MemberApi {
  const all: Partial<MemberActions> = { ...actions, state: async () => topics.state.value };
  return {
    call: async (method, params) => {
      const action = all[method];
      if (action === undefined) throw new Error(`This member has no method '${method}'.`);
      return action(params);
    },
    subscribe: (topic, listener) => {
      const source: Partial<MemberTopicSources>[typeof topic] = topics[topic];
      if (source === undefined) throw new Error(`This member has no topic '${topic}'.`);
      listener(source.value);
      return source.onChange(listener);
    },
  };
}
