/**
 * The one contract between a member and its window: what the window may call, what it may subscribe to, and the
 * messages that carry both. IPC (Electron) and WebSocket (browser) carry the same messages.
 */
import { z } from 'zod';
import type {
  CatalogueModel,
  LibraryDownload,
  LibraryModel,
  LibrarySettings,
  LibraryState,
  StageCheck,
} from '../library/libraryState.ts';
import type { ModelShape } from '../planner/modelShape.ts';
import type { PlacedStage } from '../planner/placedStage.ts';
import { forces, kvTypes, plainRamChoices, policies } from '../planner/planOptions.ts';
import {
  type ChatMessage,
  type Conversation,
  type ConversationChanges,
  type ConversationHead,
  chatMessageSchema,
  conversationChangesSchema,
  conversationIdSchema,
  type FoundMessage,
} from './conversations/conversation.ts';

/** The life of a pipeline, in order; `failed` may follow any of them. */
export type PipelineState =
  | 'planning'
  | 'fetching'
  | 'loading'
  | 'linking'
  | 'warming'
  | 'serving'
  | 'draining'
  | 'stopped'
  | 'failed';

/** A pipeline anywhere in the pool, and where the layers of its model lie. */
export interface ServingPipeline {
  id: string;
  /** What clients call the model; while it is being planned what whoever asked for it did. */
  modelId: string;
  /** What else it answers to. */
  aliases: string[];
  state: PipelineState;
  /** How far the slowest stage has come in this state, 0 to 1. */
  fraction: number;
  /** Why it has failed; null where it has not. */
  reason: string | null;
  /** The member that takes its requests. */
  driver: { id: string; name: string };
  /** Tokens of one request; 0 while it is being planned. */
  contextLength: number;
  /** In the order in which activations travel. */
  placement: PlacedStage[];
  /** Trips of activations between members per token: `placement.length - 1`. */
  hops: number;
  /** Tokens per second of the last answer, without its prompt; null before the first one. */
  lastTokensPerSecond: number | null;
  /** What was predicted beside what is measured; null before it serves. Another one at most once a second. */
  figures: ServingFigures | null;
}

/** How a pipeline fares; ms are those of one token of one request, counts since it was formed. */
export interface ServingFigures {
  stages: {
    member: string;
    predictedMs: number;
    /** Null before it has computed. */
    measuredMs: number | null;
    /** Waiting in the stage for its turn. */
    queueMs: number;
  }[];
  /** Between stages; `bytes` of activations that went that way. */
  hops: { from: string; to: string; predictedMs: number; measuredMs: number | null; bytes: number }[];
  /** From the driver to the first stage, and from the last one back to it. */
  entry: { predictedMs: number; measuredMs: number | null };
  exit: { predictedMs: number; measuredMs: number | null };
  /** From sending a decode step to its return, and of that the time between processes; null before the first. */
  stepMs: number | null;
  networkMs: number | null;
  /** Requests that have a seat, and that wait for one. */
  running: number;
  queue: number;
  /** Of drafts, that were accepted, 0 to 1; null where none was made. */
  acceptance: number | null;
  tokensIn: number;
  /** Of those, that needed not be computed. */
  tokensCached: number;
  tokensOut: number;
  /** Of one request that is alone, and of all slots together. */
  predictedTokensPerSecond: { one: number; many: number };
  /** Of all answers together, lately; 0 while nobody asks. */
  tokensPerSecond: number;
}

/** All that a window shows, small enough to be sent whole on every change. */
export interface MemberState {
  self: { id: string; name: string };
  pipelines: ServingPipeline[];
  /** Base address of the OpenAI-compatible endpoint, such as `http://127.0.0.1:4141/v1`. */
  endpoint: string;
}

/** Sizes in bytes, bandwidth in bytes per second. */
export interface PoolDevice {
  /** As ggml calls it: `CUDA0`, `CPU`. */
  name: string;
  description: string;
  backend: string;
  pciAddress: string | null;
  deviceClass: 'gpu' | 'unified' | 'cpu';
  totalBytes: number;
  freeBytes: number;
  /** Whether stages compute on it. */
  shares: boolean;
  /** Null until it has been measured. */
  bandwidth: number | null;
}

/** A member of the pool, as this one sees it. */
export interface PoolMemberStatus {
  id: string;
  name: string;
  state: 'alive' | 'suspect' | 'lost' | 'left';
  self: boolean;
  /** `host:port` of its control plane; null where none is known. */
  address: string | null;
  shareBytes: number;
  devices: PoolDevice[];
  /** Commit of llama.cpp; null before it was heard of. */
  build: string | null;
  /** Why it takes no part in what the others serve together; null where it does. */
  reject:
    | { kind: 'BuildMismatch'; expected: string; found: string }
    | { kind: 'WireMismatch'; expected: number; found: number }
    | null;
}

/** What `roomful members` lists of each. */
export interface PoolMemberDetail extends PoolMemberStatus {
  /** Whether it may invite and remove. */
  admin: boolean;
  /** Whether it leads the pool. */
  leads: boolean;
  /** Whether its owner wants it to lead. */
  pinned: boolean;
  /** Why it shares nothing now: `owner`, `battery`, `heat`, `gpu`; empty while it shares. */
  paused: string[];
  /** Round trip in ms and throughput in bytes per second; null of this member, and before they are measured. */
  link: { rttMs: number; bytesPerSecond: number; measuredAt: number } | null;
}

/** What `roomful status --json` prints. */
export interface PoolStatus {
  self: { id: string; name: string };
  /** Null in no pool. */
  pool: { id: string; name: string } | null;
  /** Id of the member that leads. */
  coordinator: string | null;
  epoch: { counter: number; coordinator: string } | null;
  /** This member first; alone in no pool. */
  members: PoolMemberStatus[];
  pipelines: ServingPipeline[];
}

/** What the owner of a machine has decided about sharing it. */
export interface SharingSettings {
  paused: boolean;
  pinned: boolean;
  /** Bytes to share where the run was not given another amount; null leaves it to what is free. */
  memoryBytes: number | null;
  /** When sharing pauses by itself. */
  manners: {
    battery: { pause: boolean };
    heat: { pause: boolean; cpuCelsius: number; gpuCelsius: number };
    gpu: { pause: boolean; percent: number };
  };
}

/** What is left out stays as it is. */
export type LimitsChange = { [K in keyof LibrarySettings]?: LibrarySettings[K] | undefined };

/** What is left out stays as it is. */
export interface SharingChange {
  memoryBytes?: number | null | undefined;
  /** Whether sharing pauses on battery, when the machine is hot, and while other programs want the graphics card. */
  battery?: boolean | undefined;
  heat?: boolean | undefined;
  gpu?: boolean | undefined;
}

/** All that a window shows of the pool. */
export interface PoolState {
  status: PoolStatus;
  members: PoolMemberDetail[];
  /** Invites of this machine that nobody has used yet. */
  invites: { id: string; expiresAtMs: number }[];
}

/** What a bug report needs, and nothing secret. */
export interface DoctorReport {
  /** One plain line for each thing that is wrong, with what to do about it. */
  problems: string[];
  versions: { build: string; wireVersion: number; node: string; platform: string };
  status: PoolStatus;
  members: PoolMemberDetail[];
  roster: { version: number; admin: boolean; certificateUntilMs: number } | null;
  removed: { poolName: string; atMs: number } | null;
  network: {
    addresses: string[];
    cards: { name: string; medium: string; usable: boolean; addresses: string[] }[];
    multicast: { state: string; message: string; remedy: string | null } | null;
  };
  memory: { totalBytes: number; freeBytes: number };
  /** The last lines of the member's log. */
  log: string[];
}

/** A key of the endpoint, as far as it is known after it was made. */
export interface ApiKey {
  id: string;
  name: string;
  /** The last four characters of its text. */
  hint: string;
  createdAtMs: number;
  lastUsedMs: number | null;
  requests: number;
  promptTokens: number;
  completionTokens: number;
}

/** A request to a model that has ended. */
export interface RecentRequest {
  id: string;
  /** When it came, milliseconds since 1970. */
  atMs: number;
  path: string;
  /** As the client called it; null where it named none. */
  model: string | null;
  /** Null where the client left before the end of its answer. */
  status: number | null;
  /** From its arrival to the end of its answer. */
  ms: number;
  from: 'loopback' | 'lan';
}

/** Who beside this machine's own programs may use the endpoint, and who has used it. */
export interface EndpointAccess {
  lan: {
    /** Whether the owner has opened it to other machines. */
    wanted: boolean;
    /** Chosen; 0 for any free one. */
    port: number;
    /** Base addresses for clients, the best first; empty while it does not answer them. */
    addresses: string[];
    /** Why it does not, or not as wanted. */
    problem: string | null;
  };
  /** Origins whose pages may call, as browsers send them. */
  origins: string[];
  keys: ApiKey[];
  /** Newest first, since this member started. */
  recent: readonly RecentRequest[];
}

/** What is left out stays as it is. */
export interface EndpointChange {
  lan?: boolean | undefined;
  port?: number | undefined;
  origins?: string[] | undefined;
}

/** How the desktop app behaves on this machine. */
export interface DesktopSettings {
  /** Whether it starts, without a window, when somebody signs in. */
  autostart: boolean;
  /** Whether the system tells what happens while nobody looks at the window. */
  notifications: boolean;
  /** Whether new versions are looked for. */
  updates: boolean;
  /** Why they cannot be; null where they can. */
  noUpdates: string | null;
}

/** What is left out stays as it is. */
export interface DesktopChange {
  autostart?: boolean | undefined;
  notifications?: boolean | undefined;
  updates?: boolean | undefined;
}

export type {
  CatalogueModel,
  LibraryDownload,
  LibraryModel,
  LibrarySettings,
  LibraryState,
  StageCheck,
} from '../library/libraryState.ts';
export type {
  AnswerFacts,
  ChatMessage,
  ChatSettings,
  Conversation,
  ConversationChanges,
  ConversationHead,
  FoundMessage,
} from './conversations/conversation.ts';

type NoParams = Record<string, never>;

/** What a window, or the command line, may ask. Each rejects with one plain line where it cannot be done. */
export interface MemberMethods {
  /** The state now. */
  state: { params: NoParams; result: MemberState };
  status: { params: NoParams; result: PoolStatus };
  members: { params: NoParams; result: PoolMemberDetail[] };
  /** Makes a pool of which this machine is the first member and admin. */
  create: { params: { name: string }; result: PoolStatus };
  /** A token that lets one machine in, for 10 minutes where `ttlMs` is left out. */
  invite: { params: { ttlMs?: number | undefined }; result: { token: string; expiresAtMs: number } };
  /** Ends an invite that nobody has used. */
  withdrawInvite: { params: { invite: string }; result: PoolState['invites'] };
  join: { params: { token: string }; result: PoolStatus };
  /** `abandon` leaves also where nobody could invite or remove afterwards. */
  leave: { params: { abandon?: boolean | undefined }; result: PoolStatus };
  /** Answers the ids of all that were removed: copies of the member's data folder go with it. */
  remove: { params: { member: string }; result: { removed: string[] } };
  /** Names this machine. */
  rename: { params: { name: string }; result: PoolStatus };
  renamePool: { params: { name: string }; result: PoolStatus };
  /** Shares nothing until `resume`, also after a restart. */
  pause: { params: NoParams; result: PoolStatus };
  resume: { params: NoParams; result: PoolStatus };
  /** What the owner of this machine has decided about sharing it. */
  sharing: { params: NoParams; result: SharingSettings };
  /** Changes what is named, also for later runs. */
  changeSharing: { params: SharingChange; result: SharingSettings };
  /** Lets this member come first in the next election, also after a restart; who leads now goes on. */
  pin: { params: NoParams; result: PoolStatus };
  unpin: { params: NoParams; result: PoolStatus };
  /** Makes a member an admin too. */
  promote: { params: { member: string }; result: PoolStatus };
  /** The pool's key, encrypted with a passphrase. */
  exportAuthority: { params: { passphrase: string }; result: { text: string } };
  importAuthority: { params: { text: string; passphrase: string }; result: PoolStatus };
  doctor: { params: NoParams; result: DoctorReport };
  /** Who beside this machine's own programs may use the endpoint. */
  endpoint: { params: NoParams; result: EndpointAccess };
  /** Rejects where it cannot be opened as wanted, and then stays as it was. */
  changeEndpoint: { params: EndpointChange; result: EndpointAccess };
  /** Makes a key for programs of other machines; its text is answered here and never again. */
  addApiKey: { params: { name: string }; result: { id: string; name: string; key: string } };
  /** By id or name. */
  revokeApiKey: { params: { key: string }; result: ApiKey };
  /** The CA certificate of the pool, PEM, by which other machines know this one; its SHA-256 in pairs of hexadecimal digits. */
  poolCertificate: { params: NoParams; result: { certificate: string; fingerprint: string } };
  /** A new link that opens the window in a browser, once. */
  windowLink: { params: NoParams; result: { link: string } };
  /** Answers when the model serves and can be asked here; the topic `state` shows how it comes up. */
  serve: { params: ServeParams; result: { model: string; contextLength: number } };
  /**
   * Ends a model everywhere, one that comes up included: requests that run may end within `drainMs`, 30 seconds where it is
   * left out. Answers when it has ended.
   */
  stop: { params: { model: string; drainMs?: number | undefined }; result: { stopped: string } };
  /** The chats that are kept on this machine, newest first. */
  conversations: { params: NoParams; result: { conversations: ConversationHead[] } };
  conversation: { params: { id: string }; result: Conversation };
  /** Adds messages to a conversation and changes it; one that is not there begins. */
  saveConversation: {
    params: { id: string; changes: ConversationChanges; messages: ChatMessage[] };
    result: ConversationHead;
  };
  deleteConversation: { params: { id: string }; result: NoParams };
  /** Messages that hold the text, of the newest conversations first. */
  searchConversations: { params: { text: string }; result: { found: FoundMessage[] } };
  /** The models on this machine's disk, and what is being fetched. */
  library: { params: NoParams; result: LibraryState };
  /** What the planner needs of a model on this machine's disk, from its header. */
  modelShape: { params: { model: string }; result: ModelShape };
  /** Takes a model of this machine's disk in: the whole path of its file, of any file of its set, or of a folder to watch. */
  importModel: { params: { path: string }; result: { models: LibraryModel[] } };
  /**
   * Takes a model out, and frees what was received of it and does not serve. `deleteFiles` where left out: those that were
   * downloaded. Answers the files that were deleted, and the bytes of received parts that are gone.
   */
  removeModel: {
    params: { model: string; deleteFiles?: boolean | undefined };
    result: { deleted: string[]; freedBytes: number };
  };
  /** Watches a folder no more. */
  removeModelFolder: { params: { path: string }; result: LibraryState };
  /** Begins to read a model from end to end; how far it is and what it found is in the library. */
  verifyModel: { params: { model: string }; result: LibraryModel };
  /**
   * Reads what this machine has received of a model for its stages, and answers what was damaged; that has been fetched again
   * where it could be. Empty where it has nothing of it.
   */
  verifyStages: { params: { model: string }; result: { model: string; stages: StageCheck[] } };
  stopVerifying: { params: { model: string }; result: LibraryModel };
  /** Begins a download, or goes on with it; how far it is is in the library. */
  pullModel: { params: { reference: string }; result: LibraryDownload };
  /** What has arrived is kept unless `discard`. */
  stopPull: { params: { download: string; discard?: boolean | undefined }; result: LibraryState };
  /** Keeps the token for gated models; null forgets it. Answers where it is kept. */
  setHubToken: { params: { token: string | null }; result: { place: string } };
  /** What models may take of this machine. */
  limits: { params: NoParams; result: LibrarySettings };
  /** Changes what is named, at once and for later runs. */
  changeLimits: { params: LimitsChange; result: LibrarySettings };
  /** Models worth a try, and how each would fit this pool. */
  catalogue: { params: NoParams; result: { models: CatalogueModel[] } };
  /** How the desktop app behaves; a member without one refuses both. */
  desktop: { params: NoParams; result: DesktopSettings };
  changeDesktop: { params: DesktopChange; result: DesktopSettings };
}

/** What the desktop app answers itself. */
export type DesktopMethod = 'desktop' | 'changeDesktop';

/** A subscription sends the present value at once and then every change. */
export interface MemberTopics {
  state: MemberState;
  pool: PoolState;
  library: LibraryState;
  endpoint: EndpointAccess;
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
  importModel: z.strictObject({ path: longText }),
  removeModel: z.strictObject({ model: longText, deleteFiles: z.boolean().optional() }),
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

const topics = ['state', 'pool', 'library', 'endpoint'] as const satisfies readonly MemberTopic[];

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
  | MemberEvent;

/** A topic with its value. */
export type MemberEvent<T extends MemberTopic = MemberTopic> = {
  [K in T]: { kind: 'event'; topic: K; value: MemberTopics[K] };
}[T];

/** What the preload script offers to the page as `window.roomful`; nothing else of Electron reaches the page. */
export interface MemberBridge {
  send(message: WindowMessage): void;
  onMessage(listener: (message: MemberMessage) => void): void;
  /** The path of a `File` that was dropped on the window; empty where it lies on no disk. */
  pathOf(file: object): string;
}
