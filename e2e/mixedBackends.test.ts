import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelShape } from '../electron/gguf/modelShape.ts';
import { openModel } from '../electron/gguf/openModel.ts';
import { servingSizes } from '../electron/pipeline/placement/servingSizes.ts';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import { memoryToShare } from '../electron/planner/stageBytes.ts';
import { hasSoftwareVulkan, softwareVulkanEnv } from '../electron/stage/testing/softwareVulkan.ts';
import { askAll } from './testing/askChat.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { processTree } from './testing/processTree.ts';
import { TestRoom } from './testing/testRoom.ts';

describe.skipIf(!hasSoftwareVulkan())('a CPU and a GPU member', () => {
  let room: TestRoom;
  let model: ServingModel;

  beforeAll(async () => {
    const shape = modelShape(await openModel(demoModelPath));
    const sizes = servingSizes(shape, {});
    // Half of the layers each, whichever half it is.
    const halves = [
      { start: 0, end: 6 },
      { start: 6, end: 12 },
    ];
    const share = (deviceClass: 'cpu' | 'gpu'): number =>
      Math.max(
        ...halves.map((half) => memoryToShare(shape, half, sizes, { leads: deviceClass === 'cpu', deviceClass })),
      );
    room = await TestRoom.open([{ memoryBytes: share('cpu') }, { memoryBytes: share('gpu'), env: softwareVulkanEnv }]);
    model = await room.serve({ modelPath: demoModelPath });
  }, 180_000);
  afterAll(() => room.close());

  it('hold a stage each, one of them with the GPU driver', () => {
    expect(new Set(model.placement.map(({ member }) => member))).toEqual(new Set(['member-0', 'member-1']));
    const drivers = [process.pid, room.others[0]?.process.pid ?? 0].map((pid) =>
      processTree(pid)
        .filter(({ command }) => command.includes('stageHost'))
        .map((host) => readFileSync(`/proc/${host.pid}/maps`, 'utf8').includes('libvulkan_lvp')),
    );
    // The tree of this process, the lead, holds the other member's too.
    expect(drivers).toEqual([expect.arrayContaining([false, true]), [true]]);
  });

  it('answer as the whole model does', async () => {
    // Every fourth question: a GPU in software takes seconds for one. All 82 give the same texts, in minutes.
    const entries = demoCorpus().filter((_, index) => index % 4 === 0);
    const questions = entries.map((entry) => entry.questions[0] ?? '');
    expect(questions.length).toBeGreaterThanOrEqual(20);
    // One after the other: old drivers in software (Mesa 22.3) crash now and then where the steps of several slots alternate.
    const answers = await askAll(room.lead.gateway, model.id, questions, 1);
    expect(answers).toEqual(entries.map(({ answer }) => answer));
  }, 300_000);
});
