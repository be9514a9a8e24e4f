import type { HostLauncher } from '../../stage/hostLauncher.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Detectors, systemDetectors } from '../manners/detectors.ts';
import type { OwnUse } from '../manners/gpuWanted.ts';
import { Manners } from '../manners/manners.ts';
import { BandwidthCache } from './bandwidthCache.ts';
import { describeDevices } from './describeDevices.ts';
import { cardsThatShare } from './joinCards.ts';
import { Machine, type MachineFacts } from './machine.ts';
import type { Offer } from './offerOf.ts';
import type { PauseReason, Profile } from './profile.ts';
import { profileOf } from './profileOf.ts';
import { type ProfileSettings, ProfileSettingsFile } from './profileSettings.ts';

export interface ProfileOptions {
  /** Data folder. */
  home: string;
  /** Starts the engine hosts that look at the devices and measure them; each is closed again. */
  launcher: HostLauncher;
  /** Threads of a stage. */
  threads: number;
  /** Commit of llama.cpp. */
  build: string;
  /** Bytes to share in this run, in place of what the settings say, until its owner sets another amount. */
  memoryBytes?: number | undefined;
  /** Whether devices whose bandwidth is not known yet are measured in the background; true where left out. */
  measures?: boolean;
  /** The machine's own where left out. */
  detectors?: Detectors;
  /** What this member did on its cards since the last call; nothing where left out. */
  ownUse?: () => OwnUse;
  /** Whether stages run, whose memory must not be mistaken for that of others; never where left out. */
  isServing?: () => boolean;
  /** Hears of what could not be read or measured; the profile goes on without. */
  onProblem: (error: unknown) => void;
  clock?: Clock;
}

/** What this member has to share, kept up to date. */
export class MemberProfile {
  readonly #options: ProfileOptions;
  #runBytes: number | undefined;
  readonly #clock: Clock;
  readonly #machine: Machine;
  readonly #settings: ProfileSettingsFile;
  readonly #cache: BandwidthCache;
  readonly #manners: Manners;
  readonly #listeners = new Set<(profile: Profile) => void>();
  #facts: MachineFacts;
  /** As it was worked out last from what was free, which small changes leave as it is. */
  #offer: Offer | null = null;
  #current: Profile;
  #measuring: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(
    options: ProfileOptions,
    parts: { machine: Machine; facts: MachineFacts; settings: ProfileSettingsFile; cache: BandwidthCache },
  ) {
    const { detectors = systemDetectors, ownUse = () => NO_USE, onProblem, clock = systemClock } = options;
    this.#options = options;
    this.#runBytes = options.memoryBytes;
    this.#clock = clock;
    this.#machine = parts.machine;
    this.#facts = parts.facts;
    this.#settings = parts.settings;
    this.#cache = parts.cache;
    this.#manners = new Manners({
      detectors,
      settings: parts.settings.current.manners,
      sharedCards: (cards) => cardsThatShare(this.#current.devices, cards),
      ownUse,
      onChange: () => this.#update(),
      onProblem,
      clock,
    });
    this.#current = this.#workOut();
  }

  /**
   * Looks at this machine's devices and begins to watch its manners. What has not been measured before is measured
   * afterwards, in the background. Rejects with a HostError when no engine host starts, and with PoolError('DamagedFile')
   * when the settings cannot be read; then nothing is left running.
   */
  static async start(options: ProfileOptions): Promise<MemberProfile> {
    const { home, launcher, threads, build, detectors = systemDetectors, measures = true, onProblem } = options;
    const settings = await ProfileSettingsFile.open(home);
    const cache = await BandwidthCache.open(home, { build, threads });
    const machine = new Machine(launcher, async () => {
      try {
        return await detectors.gpus();
      } catch (cause) {
        onProblem(new Error('The graphics cards of this machine could not be read.', { cause }));
        return [];
      }
    });
    const facts = await machine.look();
    const profile = new MemberProfile(options, { machine, facts, settings, cache });
    // Not waited for: some drivers take seconds to answer.
    void profile.#manners.start();
    if (measures) profile.#measuring = profile.#measure();
    return profile;
  }

  get current(): Profile {
    return this.#current;
  }

  /** What counts now. */
  get settings(): ProfileSettings {
    const { current } = this.#settings;
    return { ...current, memoryBytes: this.#runBytes ?? current.memoryBytes };
  }

  /** Tells every change, until the function that it returns is called. */
  onChange(listener: (profile: Profile) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Shares nothing until `resume`, also after a restart. */
  async pause(): Promise<void> {
    await this.change({ paused: true });
  }

  /** Ends the owner's pause; what the manners have paused stays so. */
  async resume(): Promise<void> {
    await this.change({ paused: false });
  }

  /** Takes new settings and keeps them. Throws a ZodError for values that are out of range. */
  async change(change: Partial<ProfileSettings>): Promise<void> {
    const kept = this.#settings.change(change);
    if (change.memoryBytes !== undefined) this.#runBytes = undefined;
    this.#manners.set(this.#settings.current.manners);
    this.#update();
    await kept;
  }

  /** Looks at the devices again, unless stages run: their memory would count as taken by others. */
  async refresh(): Promise<void> {
    if (this.#options.isServing?.()) return;
    const facts = await this.#machine.look();
    if (this.#options.isServing?.()) return;
    this.#facts = facts;
    this.#update();
  }

  /** Reads the sensors now, because something has changed: the mains, for example. Never rejects. */
  checkManners(): Promise<void> {
    return this.#manners.check();
  }

  /** Resolves when all that can be measured has been. */
  measured(): Promise<void> {
    return this.#measuring;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#manners.stop();
    await this.#machine.close();
    await this.#measuring;
  }

  async #measure(): Promise<void> {
    const { threads, onProblem } = this.#options;
    const wanted = new Set(
      this.#current.devices
        .filter(({ shares, deviceClass }) => shares || deviceClass === 'cpu')
        .map(({ name }) => name),
    );
    for (const device of this.#facts.devices) {
      if (!wanted.has(device.name) || !this.#cache.lacks(device, this.#clock.wall())) continue;
      let bytesPerSecond: number | null = null;
      try {
        bytesPerSecond = await this.#machine.measure(device, threads);
      } catch (cause) {
        if (this.#closed) return;
        onProblem(new Error(`The speed of ${device.name} could not be measured.`, { cause }));
      }
      try {
        await this.#cache.keep(device, bytesPerSecond, this.#clock.wall());
      } catch (cause) {
        onProblem(cause);
      }
      this.#update();
    }
  }

  #update(): void {
    const before = JSON.stringify(this.#current);
    this.#current = this.#workOut();
    if (JSON.stringify(this.#current) === before) return;
    for (const listener of this.#listeners) listener(this.#current);
  }

  #workOut(): Profile {
    const { devices, cards, ram } = this.#facts;
    const { paused, memoryBytes: wanted } = this.settings;
    const described = describeDevices(devices, cards, ram, (device) => this.#cache.of(device));
    const reasons: PauseReason[] = [...(paused ? (['owner'] as const) : []), ...this.#manners.paused];
    const profile = profileOf(described, wanted, reasons, this.#offer);
    if (wanted === null) this.#offer = profile;
    return profile;
  }
}

const NO_USE: OwnUse = { pids: new Set(), computed: false };
