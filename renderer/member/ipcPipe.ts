import type { MemberBridge } from '../../electron/gateway/memberApi.ts';
import type { MemberPipe, PipeEvents } from './memberPipe.ts';

declare global {
  interface Window {
    /** Set by the preload script in Electron, absent in a browser. */
    roomful?: MemberBridge;
  }
}

/** The pipe inside Electron; it is open as long as the page lives. */
export function openIpcPipe(bridge: MemberBridge, events: PipeEvents): MemberPipe {
  bridge.onMessage((message) => events.onMessage(message));
  queueMicrotask(() => events.onOpen());
  return { send: (message) => bridge.send(message) };
}
