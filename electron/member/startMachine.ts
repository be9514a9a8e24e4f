import { totalmem } from 'node:os';
import type { StageService } from '../pipeline/forming/stageService.ts';
import { cardOf } from '../pool/profile/cardOf.ts';
import { MemberProfile } from '../pool/profile/memberProfile.ts';
import { readMachineMemory } from '../pool/sensors/readMachineMemory.ts';
import { EngineKeeper } from '../stage/engineKeeper.ts';
import type { Backend } from '../stage/librariesFolder.ts';
import type { Ground } from './startGround.ts';

/** What this machine computes on and shares. */
export interface Machine {
  readonly engine: EngineKeeper;
  readonly backend: Backend;
  /** Layers of a stage that go to the device; 0 where it computes on the CPU. */
  readonly gpuLayers: number;
  /** Null on loopback: a member that nobody finds tells nobody of its machine, and its sizes are given. */
  readonly profile: MemberProfile | null;
  /** Bytes that it shares where no profile says how many. */
  readonly memoryBytes: number;
  /** Bytes that a stage could take now in the memory where it computes. */
  freeBytes(): Promise<number>;
  /** Bytes that it shares now, at least 1. */
  shareBytes(): number;
}

/** Starts the engine host and looks at the machine. `stages` answers what runs here, null while nothing can. */
export async function startMachine(ground: Ground, stages: () => StageService | null): Promise<Machine> {
  const { options, home, launcher, build, closers, log } = ground;
  const { threads, memoryBytes = Math.floor(totalmem() / 2) } = options;
  const engine = await EngineKeeper.start(launcher, (error) => log.error({ err: error }, 'the engine host is gone'));
  closers.add(() => engine.close());
  const backend = await computingBackend(engine);
  const warn = ground.warn('something is wrong with what this machine shares');
  const profile =
    options.lan === undefined
      ? null
      : await MemberProfile.start({
          home,
          launcher,
          threads,
          build,
          memoryBytes: options.memoryBytes,
          isServing: () => stages()?.isRunning ?? false,
          ownUse: () => ({ pids: ground.hostPids, computed: stages()?.takeComputed() ?? false }),
          onProblem: warn,
        });
  if (profile !== null) {
    const refresh = setInterval(() => void profile.refresh().catch(warn), REFRESH_PROFILE_MS);
    closers.add(() => {
      clearInterval(refresh);
      return profile.close();
    });
  }
  return {
    engine,
    backend,
    gpuLayers: backend === 'cpu' ? 0 : ALL_LAYERS,
    profile,
    memoryBytes,
    freeBytes: () => freeBytes(engine, backend),
    // An order for a paused member is planned for no memory at all, which is written as the least there can be.
    shareBytes: () => (profile === null ? memoryBytes : Math.max(1, cardOf(profile.current).shareBytes)),
  };
}

/** Of the cards together, over which llama.cpp spreads a stage, or of plain RAM. */
async function freeBytes(engine: EngineKeeper, backend: Backend): Promise<number> {
  if (backend === 'cpu') return (await readMachineMemory()).availableBytes;
  const devices = await (await engine.current()).devices();
  const cards = devices.filter(({ kind }) => kind === 'gpu' || kind === 'integrated');
  return cards.reduce((sum, card) => sum + card.freeBytes, 0);
}

/** What the engine host really computes on: a variant for cards counts as the CPU where it has found no card. */
async function computingBackend(engine: EngineKeeper): Promise<Backend> {
  const host = await engine.current();
  const devices = await host.devices();
  return devices.some(({ kind }) => kind === 'gpu' || kind === 'integrated') ? host.backend : 'cpu';
}

/** Between looks at what is free. */
const REFRESH_PROFILE_MS = 5 * 60_000;

/** More layers than any model has: all of a stage goes to the device. */
const ALL_LAYERS = 999;
