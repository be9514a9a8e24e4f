import { join } from 'node:path';
import { z } from 'zod';
import type { Device } from '../../stage/engineClient.ts';
import { readPrivateFile, writePrivateFile } from '../privateFile.ts';

const measuredSchema = z.object({
  /** Null where measuring failed. */
  bytesPerSecond: z.number().positive().nullable(),
  /** Ms since 1970. */
  at: z.number(),
});
type Measured = z.infer<typeof measuredSchema>;
const fileSchema = z.record(z.string(), measuredSchema);

/** A device that could not be measured is tried again after this, ms; it may have taken its driver down. */
const RETRY_MS = 24 * 3600 * 1000;

/** What the speed of a device depends on. */
export interface Circumstances {
  /** Commit of llama.cpp. */
  build: string;
  threads: number;
}

/** The bandwidths that this machine has measured (`bandwidth.json`), each once for a device, a build and a thread count. */
export class BandwidthCache {
  readonly #path: string;
  readonly #circumstances: Circumstances;
  readonly #measured: Map<string, Measured>;

  private constructor(path: string, circumstances: Circumstances, measured: Map<string, Measured>) {
    this.#path = path;
    this.#circumstances = circumstances;
    this.#measured = measured;
  }

  /** A file that cannot be read counts as none: everything is measured again. */
  static async open(home: string, circumstances: Circumstances): Promise<BandwidthCache> {
    const path = join(home, 'bandwidth.json');
    return new BandwidthCache(path, circumstances, new Map(Object.entries(parse(await readPrivateFile(path)))));
  }

  /** Bytes per second; null where there is no measurement. */
  of(device: Device): number | null {
    return this.#measured.get(this.#key(device))?.bytesPerSecond ?? null;
  }

  /** Whether a device has to be measured. `now` in ms since 1970. */
  lacks(device: Device, now: number): boolean {
    const measured = this.#measured.get(this.#key(device));
    if (measured === undefined) return true;
    return measured.bytesPerSecond === null && Math.abs(now - measured.at) > RETRY_MS;
  }

  /** Keeps a measurement, or with null that there is none to be had for now. */
  async keep(device: Device, bytesPerSecond: number | null, now: number): Promise<void> {
    this.#measured.set(this.#key(device), { bytesPerSecond, at: now });
    await writePrivateFile(this.#path, `${JSON.stringify(Object.fromEntries(this.#measured), null, 2)}\n`);
  }

  #key({ name, description, backend, pciAddress, totalBytes, kind }: Device): string {
    const { build, threads } = this.#circumstances;
    const place = [backend, name, description, pciAddress ?? '', totalBytes, build];
    return (kind === 'cpu' ? [...place, `${threads} threads`] : place).join(' | ');
  }
}

function parse(text: string | null): Record<string, Measured> {
  try {
    return fileSchema.parse(JSON.parse(text ?? '{}'));
  } catch {
    return {};
  }
}
