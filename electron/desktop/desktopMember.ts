import type { MemberApi } from '../gateway/memberApi.ts';

/** What the desktop shell needs of the member that it runs. */
export interface DesktopMember {
  /** Origin of the gateway, which serves the window: `http://127.0.0.1:4141`. */
  readonly gateway: string;
  /** What the window may ask, and what the tray shows. */
  readonly api: MemberApi;
  /** The machine is about to sleep. Never rejects. */
  sleep(): Promise<void>;
  /** The machine is awake again. Never rejects. */
  wake(): Promise<void>;
  /** The machine came onto its battery or off it. Never rejects. */
  checkPower(): Promise<void>;
  /** Ends what it serves and every process that it started. */
  close(): Promise<void>;
}
