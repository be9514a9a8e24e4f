import type { SecretStore } from '../library/secretStore.ts';
import type { HostLauncher } from '../stage/hostLauncher.ts';

export interface MemberOptions {
  /** Data folder. */
  home: string;
  name: string;
  /** Bytes of memory that this member shares; where left out what is free, or on loopback half of the memory. */
  memoryBytes?: number;
  /** Commit of llama.cpp that it says it runs; the real one where left out. */
  build?: string;
  /** Threads of each stage. */
  threads: number;
  /** Starts the processes that load native code. */
  launcher: HostLauncher;
  /** Lets other members find this one on the LAN; where left out it stays on loopback. */
  lan?: { multicast: boolean };
  /** Port of the control plane, 0 or left out for any free one. */
  port?: number;
  /** Port of the gateway; where left out that of the last time, or any free one. */
  gatewayPort?: number;
  /** The small model that comes with the app; the checkout's where left out. */
  demoModel?: string;
  /** Folder of the built window, which the gateway then serves. */
  windowFolder?: string;
  /** The address by which this member reaches another; the identity where left out. */
  route?: (address: string) => string | Promise<string>;
  /** Keeps secrets; plain files for their owner alone where left out. */
  secrets?: SecretStore;
}
