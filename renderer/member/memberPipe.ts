import type { MemberMessage, WindowMessage } from '../../electron/gateway/memberApi.ts';

export interface PipeEvents {
  onOpen(): void;
  onMessage(message: MemberMessage): void;
  /** The pipe is down and comes back by itself. */
  onLost(): void;
  /** The member wants a new link first. */
  onLocked(): void;
}

/** Carries the contract's messages between this window and its member. */
export interface MemberPipe {
  /** Only between `onOpen` and `onLost`. */
  send(message: WindowMessage): void;
}
