import { z } from 'zod';

/** What a process needs to speak for its member, PEM: the pool CA, the member's certificate and its private key. */
export interface TlsMaterial {
  ca: string;
  cert: string;
  key: string;
}

export const tlsMaterialSchema: z.ZodType<TlsMaterial> = z.strictObject({
  ca: z.string().min(1),
  cert: z.string().min(1),
  key: z.string().min(1),
});
