import { z } from 'zod';

/** What a member that runs below another process says when it is ready. Nothing secret. */
export const readyMemberSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Control plane, `host:port`. */
  address: z.string(),
  /** Origin of its gateway. */
  gateway: z.string(),
  /** File that holds the local token. */
  tokenFile: z.string(),
});

export type ReadyMember = z.infer<typeof readyMemberSchema>;
