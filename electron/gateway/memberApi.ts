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
import type {
  ChatMessage,
  Conversation,
  ConversationChanges,
  ConversationHead,
  FoundMessage,
} from './conversations/conversation.ts';
import type {
  ApiKey,
  DesktopChange,
  DesktopSettings,
  DoctorReport,
  EndpointAccess,
  EndpointChange,
  LimitsChange,
  MemberState,
  PoolMemberDetail,
  PoolState,
  PoolStatus,
  SharingChange,
  SharingSettings,
} from './memberStatus.ts';
import type { ServeParams } from './methodParams.ts';

export type {
  CatalogueModel,
  LibraryDownload,
  LibraryModel,
  LibrarySettings,
  LibraryState,
  PoolModel,
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

export type * from './memberStatus.ts';
export type { ServeParams } from './methodParams.ts';

type NoParams = Record<string, never>;

/** What a window, or the command line, may ask. Each rejects with one plain line where it cannot be done. */
export interface MemberMethods {
  /** The state now. */
  state: { params: NoParams; result: MemberState };
  status: { params: NoParams; result: PoolStatus };
  members: { params: NoParams; result: PoolMemberDetail[] };
  /** Makes a pool of which this machine is the first member and admin. */
  create: { params: { name: string }; result: PoolStatus };
  /**
   * A token that lets one machine in, for 10 minutes where `ttlMs` is left out; the same as a link, and the pool's fingerprint,
   * which whoever opens the link is asked to compare.
   */
  invite: {
    params: { ttlMs?: number | undefined };
    result: { token: string; link: string; fingerprint: string; expiresAtMs: number };
  };
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
  /** Serves the model of a pipeline that has ended as it was asked for, on those members of it that are there. See `serve`. */
  serveAgain: { params: { pipeline: string }; result: { model: string; contextLength: number } };
  /** Shows a pipeline that has failed no more. */
  putAway: { params: { pipeline: string }; result: NoParams };
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
  /** What the planner needs of a model of this machine's disk, or of another member's, from its header. */
  modelShape: { params: { model: string }; result: ModelShape };
  /**
   * How fast stages of a model (content id) are expected to run, over what the profiles of members say, by the ids of those of
   * whom something else than that is expected: it was learnt there, or from others.
   */
  modelSpeeds: { params: { model: string }; result: { speeds: Record<string, number> } };
  /**
   * Takes a model of this machine's disk in: the whole path of its file, of any file of its set, or of a folder to watch. With
   * `copies` those files were copied into the library's folder for it, and live no longer than the model.
   */
  importModel: { params: { path: string; copies?: string[] | undefined }; result: { models: LibraryModel[] } };
  /** Takes in the model that came with Roomful. */
  takeDemoModel: { params: NoParams; result: { models: LibraryModel[] } };
  /**
   * Takes a model out, and frees what was received of it and does not serve. `deleteFiles` where left out: those that were
   * downloaded or dropped. Answers the files that were deleted, and the bytes of received parts that are gone.
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
