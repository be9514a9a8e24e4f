/** What a member tells its window, and the command line, of itself and of its pool. */
import type { LibrarySettings } from '../library/libraryState.ts';
import type { PlacedStage } from '../planner/placedStage.ts';

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

/** A stage as planned, and what its bytes are for. */
export interface ServingStage extends PlacedStage {
  /** Of the member. */
  id: string;
  /** Of `bytes`, for weights; what is left beside KV are buffers. */
  weightBytes: number;
}

/** A pipeline anywhere in the pool, and where the layers of its model lie. */
export interface ServingPipeline {
  id: string;
  /** Content id; empty while it is being planned. */
  contentId: string;
  /** What clients call the model; while it is being planned what whoever asked for it did. */
  modelId: string;
  /** What else it answers to. */
  aliases: string[];
  /** It turns texts into vectors and writes none; false while that is not known. */
  embedsOnly: boolean;
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
  placement: ServingStage[];
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
  entry: { predictedMs: number; measuredMs: number | null; bytes: number };
  exit: { predictedMs: number; measuredMs: number | null; bytes: number };
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
  /** The pool that this machine was removed from last, and when; null where it is in one, or left by itself. */
  removed: { poolName: string; atMs: number } | null;
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
