import { join } from 'node:path';
import { forgetGateway, noteGateway } from './gateway/gatewayNote.ts';
import type { MemberApi } from './gateway/memberApi.ts';
import type { MemberStateStore } from './gateway/window/memberState.ts';
import type { MemberOptions } from './member/memberOptions.ts';
import { MemberSleep } from './member/memberSleep.ts';
import { openModels } from './member/openModels.ts';
import { openPool } from './member/openPool.ts';
import { plannerMembers } from './member/plannerMembers.ts';
import { type ControlPlane, startControlPlane } from './member/startControlPlane.ts';
import { startGateway } from './member/startGateway.ts';
import { startGround } from './member/startGround.ts';
import { startLibraryApi } from './member/startLibraryApi.ts';
import { startMachine } from './member/startMachine.ts';
import { startServing } from './member/startServing.ts';
import { MemoryTruthFile } from './pipeline/placement/memoryTruthFile.ts';
import { SpeedTruthFile } from './pipeline/placement/speedTruthFile.ts';
import { KeptServes } from './pipeline/serving/keptServes.ts';
import type { ModelServing } from './pipeline/serving/modelServing.ts';

export interface Member {
  readonly id: string;
  readonly name: string;
  /** Control plane, `host:port`. */
  readonly address: string;
  /** The same for every network card, the best first. */
  readonly addresses: readonly string[];
  /** Origin of the gateway, on loopback. */
  readonly gateway: string;
  /** File with the local token, readable by its owner only. */
  readonly tokenFile: string;
  readonly models: ModelServing;
  readonly state: MemberStateStore;
  /** What the window and the command line may ask. */
  readonly api: MemberApi;
  /** A new link that opens the window in a browser, once. */
  windowLink(): string;
  /** The machine is about to sleep: stops what needs other members and says goodbye. Never rejects. */
  sleep(): Promise<void>;
  /** The machine is awake: takes part again, and serves what was stopped. Never rejects. */
  wake(): Promise<void>;
  /** Looks at once whether the machine runs on its battery. Never rejects. */
  checkPower(): Promise<void>;
  /** Ends what it serves and every process that it started. */
  close(): Promise<void>;
}

/** Starts a member: control plane, gateway, engine host. Rejects with one plain line, and then nothing is left running. */
export async function startMember(options: MemberOptions): Promise<Member> {
  const ground = await startGround(options);
  const { home, closers } = ground;
  try {
    let control: ControlPlane | null = null;
    const machine = await startMachine(ground, () => control?.stages ?? null);
    const pooled = await openPool(ground, machine);
    const models = await openModels(ground, pooled, () => control?.stages.isComputing ?? false);
    control = await startControlPlane(ground, machine, pooled, models);
    const memory = await MemoryTruthFile.open(join(home, 'memory.json'));
    const speeds = await SpeedTruthFile.open(join(home, 'speeds.json'));
    const kept = await KeptServes.open(join(home, 'serves.json'));
    const serving = startServing(ground, machine, pooled, { control, models, memory, speeds, kept });
    const library = await startLibraryApi(ground, {
      ...{ models, serving },
      room: () => plannerMembers(pooled, machine),
    });
    const gateway = await startGateway(ground, pooled, serving, library);
    const { pool } = pooled;
    const sleep = new MemberSleep({
      pool,
      models: serving.models,
      changes: ground.changes,
      onProblem: ground.warn('something went wrong around a sleep'),
    });
    closers.add(async () => sleep.close());
    await pool.begin(control.port);
    serving.bringBack.begin();
    await noteGateway(home, gateway.origin);
    closers.add(() => forgetGateway(home));
    const { id, name } = pool.trust.self;
    return {
      id,
      name,
      address: control.ownAddress(),
      addresses: pool.addresses(),
      gateway: gateway.origin,
      tokenFile: gateway.tokenFile,
      models: serving.models,
      state: gateway.state,
      api: gateway.api,
      windowLink: () => gateway.windowLink(),
      sleep: () => sleep.sleep(),
      wake: () => sleep.wake(),
      checkPower: async () => machine.profile?.checkManners(),
      close: () => closers.close(),
    };
  } catch (cause) {
    await closers.close();
    throw cause;
  }
}
