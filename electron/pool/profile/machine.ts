import { type Device, EngineClient } from '../../stage/engineClient.ts';
import type { HostLauncher } from '../../stage/hostLauncher.ts';
import type { GpuReading } from '../sensors/gpuReading.ts';
import { type MachineMemory, readMachineMemory } from '../sensors/readMachineMemory.ts';

/** Time that measuring one device takes, about, ms. */
const MEASURE_MS = 400;

/** What backends, drivers and the system say of a machine. */
export interface MachineFacts {
  devices: Device[];
  cards: GpuReading[];
  ram: MachineMemory;
}

/**
 * Asks this machine about itself, in engine hosts that live as long as one question: what drivers keep for a process that
 * has used a card (hundreds of MB) goes with it, and a driver that fails takes nothing else along.
 */
export class Machine {
  readonly #launcher: HostLauncher;
  readonly #readCards: () => Promise<GpuReading[]>;
  #engine: EngineClient | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(launcher: HostLauncher, readCards: () => Promise<GpuReading[]>) {
    this.#launcher = launcher;
    this.#readCards = readCards;
  }

  /** Rejects with a HostError. */
  async look(): Promise<MachineFacts> {
    const [devices, cards, ram] = await Promise.all([
      this.#ask((engine) => engine.devices()),
      this.#readCards(),
      readMachineMemory(),
    ]);
    return { devices, cards, ram };
  }

  /** Bytes per second at which a device reads weights. Rejects with a HostError. */
  measure(device: Device, threads: number): Promise<number> {
    return this.#ask((engine) => engine.readSpeed(device.name, { threads, budgetMs: MEASURE_MS }));
  }

  /** Ends the question that is asked; it rejects, and so does every later one. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#engine?.close();
    await this.#queue;
  }

  /** One at a time, so that no measurement is in another's way. */
  #ask<T>(question: (engine: EngineClient) => Promise<T>): Promise<T> {
    const answer = this.#queue.then(async () => {
      if (this.#closed) throw new MachineClosed();
      const engine = await EngineClient.start(this.#launcher, () => {});
      this.#engine = engine;
      try {
        if (this.#closed) throw new MachineClosed();
        return await question(engine);
      } finally {
        this.#engine = null;
        await engine.close();
      }
    });
    this.#queue = answer.catch(() => {});
    return answer;
  }
}

/** The member that asked is being closed. */
export class MachineClosed extends Error {
  override name = 'MachineClosed';

  constructor() {
    super('This member is being closed.');
  }
}
