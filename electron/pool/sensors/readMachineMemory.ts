import { freemem, totalmem } from 'node:os';
import { mem } from 'systeminformation';

/** The plain RAM of this machine, or of the container that it is seen from; bytes. */
export interface MachineMemory {
  totalBytes: number;
  /** What programs may take without anything being written to disk. */
  availableBytes: number;
}

export async function readMachineMemory(platform: NodeJS.Platform = process.platform): Promise<MachineMemory> {
  // Elsewhere Node's own figures count what the system would give back; on macOS they do not. The first is as old as
  // Node 20, the second knows the limits of a container.
  const available =
    platform === 'darwin' ? (await mem()).available : Math.min(freemem(), process.availableMemory?.() ?? freemem());
  // Without a limit Node reports 0 or more than there is.
  const limit = process.constrainedMemory();
  const totalBytes = limit > 0 ? Math.min(totalmem(), limit) : totalmem();
  return { totalBytes, availableBytes: Math.min(available, totalBytes) };
}
