import { z } from 'zod';
import { forces, kvTypes, plainRamChoices, policies } from '../planner/planOptions.ts';
import { chatMessageSchema, conversationChangesSchema, conversationIdSchema } from './conversations/conversation.ts';
import type { MemberMethod, MethodParams } from './memberApi.ts';

const text = z.string().min(1, 'It is empty').max(1000, 'It is too long');
/** Paths and addresses. */
const longText = z.string().min(1, 'It is empty').max(10_000, 'It is too long');

const serveParamsSchema = z
  .strictObject({
    /** Content id or name of a model that some member has. */
    model: text.optional(),
    /** In place of `model`: any shard of a GGUF on this machine's disk, which is imported first. */
    modelPath: text.optional(),
    /**
     * The only members that may take part, in the order of the stages: names, ids or addresses; or, in any order, addresses
     * with ids.
     */
    members: z
      .array(z.union([text, z.strictObject({ address: text, id: text })]))
      .min(1)
      .max(64)
      .optional(),
    /** One member only, or at least two. */
    force: z.enum(forces).optional(),
    /** As few members as can hold it, or everyone by speed; the first where it is left out. */
    policy: z.enum(policies).optional(),
    /** When layers may lie in plain RAM beside a card. */
    plainRam: z.enum(plainRamChoices).optional(),
    /** Tokens of one request, prompt and answer; the model's own length, at most 4096, where it is left out. */
    contextLength: z.int().min(16).max(1_048_576).optional(),
    /** Requests that run at once, 4 where it is left out. */
    slots: z.int().min(1).max(64).optional(),
    /** Pipelines of the model, each of members of its own. */
    replicas: z.int().min(1).max(64).optional(),
    kvType: z.enum(kvTypes).optional(),
    /** Content id or name of a small model of the same vocabulary that drafts; where it is left out drafts are looked up. */
    draft: text.optional(),
    /** In place of `draft`: its file on this member's disk. */
    draftPath: text.optional(),
    /** Tokens guessed ahead at most, in one step, 8 where it is left out; 0 never guesses. */
    mostDrafts: z.int().min(0).max(8).optional(),
    /** Keep activations at f32 on the wire. */
    exact: z.boolean().optional(),
    /** What else clients may call the model. */
    aliases: z.array(z.string().min(1).max(200)).max(16).optional(),
  })
  .refine(({ model, modelPath }) => (model === undefined) !== (modelPath === undefined), {
    error: 'Give either the model or the path of its file.',
    path: ['model'],
  });
/** What to serve; what is left out is left to the planner. */
export type ServeParams = z.infer<typeof serveParamsSchema>;

/** One schema per method: parameters enter the member here. */
export const methodParamSchemas = {
  state: z.strictObject({}),
  status: z.strictObject({}),
  members: z.strictObject({}),
  pause: z.strictObject({}),
  resume: z.strictObject({}),
  sharing: z.strictObject({}),
  changeSharing: z.strictObject({
    memoryBytes: z.int().positive().nullable().optional(),
    battery: z.boolean().optional(),
    heat: z.boolean().optional(),
    gpu: z.boolean().optional(),
  }),
  pin: z.strictObject({}),
  unpin: z.strictObject({}),
  create: z.strictObject({ name: text }),
  invite: z.strictObject({ ttlMs: z.int().positive().optional() }),
  withdrawInvite: z.strictObject({ invite: text }),
  join: z.strictObject({ token: longText }),
  leave: z.strictObject({ abandon: z.boolean().optional() }),
  remove: z.strictObject({ member: text }),
  rename: z.strictObject({ name: text }),
  renamePool: z.strictObject({ name: text }),
  promote: z.strictObject({ member: text }),
  exportAuthority: z.strictObject({ passphrase: z.string().max(1000) }),
  importAuthority: z.strictObject({ text: z.string().max(10_000_000), passphrase: z.string().max(1000) }),
  doctor: z.strictObject({}),
  endpoint: z.strictObject({}),
  changeEndpoint: z.strictObject({
    lan: z.boolean().optional(),
    port: z.int().min(0).max(65_535).optional(),
    origins: z
      .array(
        z
          .string()
          .max(300)
          .regex(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/, 'must be an origin such as http://localhost:3000'),
      )
      .max(100)
      .optional(),
  }),
  addApiKey: z.strictObject({ name: z.string().trim().min(1).max(100) }),
  revokeApiKey: z.strictObject({ key: text }),
  poolCertificate: z.strictObject({}),
  windowLink: z.strictObject({}),
  serve: serveParamsSchema,
  serveAgain: z.strictObject({ pipeline: text }),
  putAway: z.strictObject({ pipeline: text }),
  stop: z.strictObject({ model: text, drainMs: z.int().min(0).max(3_600_000).optional() }),
  conversations: z.strictObject({}),
  conversation: z.strictObject({ id: conversationIdSchema }),
  saveConversation: z.strictObject({
    id: conversationIdSchema,
    changes: conversationChangesSchema,
    messages: z.array(chatMessageSchema).max(1000),
  }),
  deleteConversation: z.strictObject({ id: conversationIdSchema }),
  searchConversations: z.strictObject({ text: z.string().max(1000) }),
  library: z.strictObject({}),
  modelShape: z.strictObject({ model: longText }),
  modelSpeeds: z.strictObject({ model: longText }),
  importModel: z.strictObject({ path: longText, copies: z.array(longText).min(1).max(1000).optional() }),
  removeModel: z.strictObject({ model: longText, deleteFiles: z.boolean().optional() }),
  takeDemoModel: z.strictObject({}),
  removeModelFolder: z.strictObject({ path: longText }),
  verifyModel: z.strictObject({ model: longText }),
  verifyStages: z.strictObject({ model: longText }),
  stopVerifying: z.strictObject({ model: longText }),
  limits: z.strictObject({}),
  changeLimits: z.strictObject({
    diskBytes: z.int().positive().nullable().optional(),
    bytesPerSecond: z.int().positive().nullable().optional(),
    loadedShare: z.number().min(0.01).max(1).optional(),
  }),
  pullModel: z.strictObject({ reference: longText }),
  stopPull: z.strictObject({ download: text, discard: z.boolean().optional() }),
  setHubToken: z.strictObject({ token: z.string().min(1).max(1000).nullable() }),
  catalogue: z.strictObject({}),
  desktop: z.strictObject({}),
  changeDesktop: z.strictObject({
    autostart: z.boolean().optional(),
    notifications: z.boolean().optional(),
    updates: z.boolean().optional(),
  }),
} satisfies { [M in MemberMethod]: z.ZodType<MethodParams<M>> };
