import { expect } from 'vitest';
import { z } from 'zod';
import { eventually } from '../../testing/eventually.ts';
import { processTree } from '../../testing/processTree.ts';
import type { LanProcess } from '../lanProcess.ts';
import type { LanMember } from './lanMember.ts';
import { lanProgram } from './lanProgram.ts';

const servedSchema = z.object({
  model: z.string(),
  pipelines: z.array(z.object({ placement: z.array(z.object({ member: z.string() })) })),
});

/** `roomful serve MODEL` beside a member; answers what it is called and the names of who holds each pipeline. */
export async function serve(
  by: LanMember,
  model: string,
  ...args: string[]
): Promise<{ model: string; pipelines: string[][] }> {
  const served = servedSchema.parse(JSON.parse(await by.run('serve', model, '--json', ...args)));
  const pipelines = served.pipelines.map(({ placement }) => placement.map(({ member }) => member));
  return { model: served.model, pipelines };
}

/** A client beside a member that asks its model again and again. */
export class LanClient {
  readonly #process: LanProcess;

  constructor(member: LanMember, model: string) {
    this.#process = member.machine.start(process.execPath, [lanProgram('askOn'), member.home, model]);
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
