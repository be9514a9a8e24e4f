import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { z } from 'zod';
import { type ServeRequest, serveEventSchema } from '../../../electron/pipeline/serveEvents.ts';
import type { PlacedStage } from '../../../electron/planner/placedStage.ts';
import { eventually } from '../../testing/eventually.ts';
import { processTree } from '../../testing/processTree.ts';
import type { LanProcess } from '../lanProcess.ts';
import type { LanMember } from './lanMember.ts';

const program = (name: string): string =>
  fileURLToPath(new URL(`../../../dist/e2e/lan/programs/${name}.js`, import.meta.url));

/** Serves a model over members, which `lead` coordinates. Throws where that fails. */
export async function serveOver(
  order: Omit<ServeRequest, 'members'>,
  lead: LanMember,
  members: readonly LanMember[],
): Promise<{ model: string; placement: PlacedStage[] }> {
  const { members: known } = await lead.status();
  const places = members.map(({ id }) => ({ id, address: known.find((member) => member.id === id)?.address }));
  const printed = await lead.machine.run(process.execPath, [
    program('serve'),
    lead.home,
    JSON.stringify({ ...order, members: places }),
  ]);
  const events = printed
    .trim()
    .split('\n')
    .map((line) => serveEventSchema.parse(JSON.parse(line)));
  const planned = events.find((event) => event.type === 'planned');
  const ready = events.find((event) => event.type === 'ready');
  if (planned === undefined || ready === undefined) throw new Error(printed);
  return { model: ready.model, placement: planned.placement };
}

/** A client beside a member that asks its model again and again. */
export class LanClient {
  readonly #process: LanProcess;

  constructor(member: LanMember, model: string) {
    this.#process = member.machine.start(process.execPath, [program('askOn'), member.home, model]);
  }

  /** What came of each request, oldest first. */
  outcomes(): string[] {
    return this.#process.stdout().split('\n').slice(0, -1);
  }

  /** Waits until so many more requests have been answered. */
  async answered(more: number): Promise<void> {
    const count = (): number => this.outcomes().filter((line) => line === 'answered').length;
    const before = count();
    await eventually(() => expect(count()).toBeGreaterThanOrEqual(before + more));
  }

  async stop(): Promise<void> {
    await this.#process.kill();
  }
}

/** Process ids of the stages that run on a member. */
export function stagesOf(member: LanMember): number[] {
  return processTree(member.process.pid)
    .filter(({ command }) => command.includes('stageHost'))
    .map(({ pid }) => pid);
}

const fenceSchema = z.object({ epoch: z.object({ counter: z.number(), coordinator: z.string() }) });

/** The epoch below which a member lets no order in, as the text of its `fence.json` says. */
export function fenceIn(text: string): z.infer<typeof fenceSchema>['epoch'] {
  return fenceSchema.parse(JSON.parse(text)).epoch;
}
