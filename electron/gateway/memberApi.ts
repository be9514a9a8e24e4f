/**
 * The one contract between a member and its window: what the window may call, what it may subscribe to, and the
 * messages that carry both. IPC (Electron) and WebSocket (browser) carry the same messages.
 */
import { z } from 'zod';

/** A range of layers that one member holds. */
export interface PlacedStage {
  /** The member's name, as people know it. */
  member: string;
  startLayer: number;
  /** Exclusive. */
  endLayer: number;
  /** Planned: weights, KV and buffers. */
  bytes: number;
}

/** A model that serves, and where its layers lie. */
export interface ServingPipeline {
  id: string;
  modelId: string;
  /** In the order in which activations travel. */
  placement: PlacedStage[];
  /** Trips of activations between members per token: `placement.length - 1`. */
  hops: number;
  /** Tokens per second of the last answer, without its prompt; null before the first one. */
  lastTokensPerSecond: number | null;
}

/** All that a window shows, small enough to be sent whole on every change. */
export interface MemberState {
  self: { id: string; name: string };
  pipelines: ServingPipeline[];
  /** Base address of the OpenAI-compatible endpoint, such as `http://127.0.0.1:4141/v1`. */
  endpoint: string;
}

export interface MemberMethods {
  /** The state now. */
  state: { params: Record<string, never>; result: MemberState };
}

/** A subscription sends the present value at once and then every change. */
export interface MemberTopics {
  state: MemberState;
}

export type MemberMethod = keyof MemberMethods;
export type MemberTopic = keyof MemberTopics;
export type MethodParams<M extends MemberMethod> = MemberMethods[M]['params'];
export type MethodResult<M extends MemberMethod> = MemberMethods[M]['result'];

/** What the member offers to a window, and what the window's client looks like: the carrier in between is invisible. */
export interface MemberApi {
  /** Rejects with an `Error` whose message is one plain line. */
  call<M extends MemberMethod>(method: M, params: MethodParams<M>): Promise<MethodResult<M>>;
  /** Calls `listener` with the present value and every later one, until the function that it returns is called. */
  subscribe<T extends MemberTopic>(topic: T, listener: (value: MemberTopics[T]) => void): () => void;
}

/** One schema per method: parameters enter the member here. */
export const methodParamSchemas = {
  state: z.strictObject({}),
} satisfies { [M in MemberMethod]: z.ZodType<MethodParams<M>> };

const topics = ['state'] as const satisfies readonly MemberTopic[];

/** Window to member. `params` are checked against the method's own schema afterwards. */
export const windowMessageSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('call'),
    /** Chosen by the window, returned with the answer. */
    id: z.int().nonnegative(),
    method: z.string().max(100),
    params: z.unknown(),
  }),
  z.strictObject({ kind: z.literal('subscribe'), topic: z.enum(topics) }),
  z.strictObject({ kind: z.literal('unsubscribe'), topic: z.enum(topics) }),
]);
export type WindowMessage = z.infer<typeof windowMessageSchema>;

/** Member to window. */
export type MemberMessage =
  | { kind: 'result'; id: number; value: unknown }
  | { kind: 'error'; id: number; message: string }
  | { [T in MemberTopic]: { kind: 'event'; topic: T; value: MemberTopics[T] } }[MemberTopic];

/** What the preload script offers to the page as `window.roomful`; nothing else of Electron reaches the page. */
export interface MemberBridge {
  send(message: WindowMessage): void;
  onMessage(listener: (message: MemberMessage) => void): void;
}
