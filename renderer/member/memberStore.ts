import { create } from 'zustand';
import type {
  EndpointAccess,
  LibraryState,
  MemberApi,
  MemberMethod,
  MemberState,
  MethodParams,
  MethodResult,
  PoolState,
} from '../../electron/gateway/memberApi.ts';
import { openIpcPipe } from './ipcPipe.ts';
import { type Connection, connectMember } from './memberClient.ts';
import type { PipeEvents } from './memberPipe.ts';
import { openSocketPipe } from './socketPipe.ts';

interface MemberStore {
  connection: Connection;
  /** The last state that arrived; kept while the connection is lost. */
  member: MemberState | null;
  /** The same of the pool. */
  pool: PoolState | null;
  /** The models on this machine's disk. */
  library: LibraryState | null;
  /** Who may use the endpoint of this machine. */
  endpoint: EndpointAccess | null;
}

export const useMember = create<MemberStore>()(() => ({
  connection: 'connecting',
  member: null,
  pool: null,
  library: null,
  endpoint: null,
}));

let api: MemberApi | null = null;

/** Asks the member; rejects with one plain line. */
export function callMember<M extends MemberMethod>(method: M, params: MethodParams<M>): Promise<MethodResult<M>> {
  return api === null ? Promise.reject(new Error('The member is not connected yet.')) : api.call(method, params);
}

/** Connects this window to its member, over IPC in Electron and over a WebSocket in a browser. Called once. */
export function followMember(): void {
  const bridge = window.roomful;
  const openPipe = (events: PipeEvents) => (bridge ? openIpcPipe(bridge, events) : openSocketPipe(events));
  api = connectMember(openPipe, (connection) => useMember.setState({ connection }));
  api.subscribe('state', (member) => useMember.setState({ member }));
  api.subscribe('pool', (pool) => useMember.setState({ pool }));
  api.subscribe('library', (library) => useMember.setState({ library }));
  api.subscribe('endpoint', (endpoint) => useMember.setState({ endpoint }));
}
