import { z } from 'zod';

/** What a member that runs below another process says when it is ready. */
export const readyMemberSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Control plane, `host:port`. */
  address: z.string(),
  /** Origin of its gateway. */
  gateway: z.string(),
  /** File that holds the local token. */
  tokenFile: z.string(),
  /** Link that opens its window in a browser, once; a secret of whoever runs it. */
  windowLink: z.string(),
});

export type ReadyMember = z.infer<typeof readyMemberSchema>;
