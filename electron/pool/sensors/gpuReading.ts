/** A program that uses a graphics card. */
export interface GpuProgram {
  pid: number;
  /** The part of the time in which the card computed for it, 0 to 1. */
  busy: number;
}

/** What a driver says of one graphics card at one moment; null where it does not say. */
export interface GpuReading {
  name: string;
  /** Lower-case PCI address such as `0000:c1:00.0`. */
  pciAddress: string | null;
  totalBytes: number | null;
  usedBytes: number | null;
  /** The part of the time in which it computed lately, 0 to 1. */
  busy: number | null;
  celsius: number | null;
  programs: GpuProgram[] | null;
}
