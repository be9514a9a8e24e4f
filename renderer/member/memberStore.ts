import { create } from 'zustand';
import type { MemberState } from '../../electron/gateway/memberApi.ts';
import { openIpcPipe } from './ipcPipe.ts';
import { type Connection, connectMember } from './memberClient.ts';
import type { PipeEvents } from './memberPipe.ts';
import { openSocketPipe } from './socketPipe.ts';

interface MemberStore {
  connection: Connection;
  /** The last state that arrived; kept while the connection is lost. */
  member: MemberState | null;
}

export const useMember = create<MemberStore>()(() => ({ connection: 'connecting', member: null }));

/** Connects this window to its member, over IPC in Electron and over a WebSocket in a browser. Called once. */
export function followMember(): void {
  const bridge = window.roomful;
  const openPipe = (events: PipeEvents) => (bridge ? openIpcPipe(bridge, events) : openSocketPipe(events));
  const api = connectMember(openPipe, (connection) => useMember.setState({ connection }));
  api.subscribe('state', (member) => useMember.setState({ member }));
}
