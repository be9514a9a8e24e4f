import type { MemberApi } from '../gateway/memberApi.ts';
import type { MemberStateStore } from '../gateway/window/memberState.ts';

/** What the desktop shell needs of the member that it runs. */
export interface DesktopMember {
  /** Origin of the gateway, which serves the window: `http://127.0.0.1:4141`. */
  readonly gateway: string;
  readonly state: MemberStateStore;
  /** What the window may ask. */
  readonly api: MemberApi;
  /** Ends what it serves and every process that it started. */
  close(): Promise<void>;
}
