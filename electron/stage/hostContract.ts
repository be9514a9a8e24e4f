import { z } from 'zod';

/** The first request to every host. */
export const bootMethod = {
  params: z.strictObject({ parentPid: z.number().int().positive() }),
  /** The variant of llama.cpp that was opened. */
  result: z.strictObject({ backend: z.enum(['cpu', 'vulkan', 'cuda', 'metal']) }),
};

/** The last: the host answers and leaves. */
export const leaveMethod = { params: z.null(), result: z.null() };

/** What a parent may ask of a host and what the host tells on its own; both sides check every message against it. */
export interface HostContract {
  methods: Record<string, { params: z.ZodType; result: z.ZodType }> & {
    boot: typeof bootMethod;
    leave: typeof leaveMethod;
  };
  events: Record<string, z.ZodType>;
}

export type MethodOf<C extends HostContract> = keyof C['methods'] & string;
export type ParamsOf<C extends HostContract, M extends MethodOf<C>> = z.infer<C['methods'][M]['params']>;
export type ResultOf<C extends HostContract, M extends MethodOf<C>> = z.infer<C['methods'][M]['result']>;
export type EventOf<C extends HostContract> = keyof C['events'] & string;
export type EventDataOf<C extends HostContract, E extends EventOf<C>> = z.infer<C['events'][E]>;

/** Parent to host. */
export const requestSchema = z.strictObject({
  id: z.number().int().positive(),
  method: z.string(),
  params: z.unknown(),
});

/** Host to parent. `id` 0 answers a message that was no request. */
export const replySchema = z.union([
  z.strictObject({
    id: z.number().int().nonnegative(),
    error: z.strictObject({ code: z.string(), message: z.string() }),
  }),
  z.strictObject({ id: z.number().int().positive(), result: z.unknown() }),
  z.strictObject({ event: z.string(), data: z.unknown() }),
]);
export type HostReply = z.infer<typeof replySchema>;
