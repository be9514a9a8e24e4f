import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { modelShape } from '../electron/gguf/modelShape.ts';
import { openModel } from '../electron/gguf/openModel.ts';
import { servingSizes } from '../electron/pipeline/placement/servingSizes.ts';
import type { ServeEvent } from '../electron/pipeline/serving/serveEvents.ts';
import { stageBytes } from '../electron/planner/stageBytes.ts';
import { hasSoftwareVulkan, softwareVulkanEnv } from '../electron/stage/testing/softwareVulkan.ts';
import { demoModelPath } from './testing/demoCorpus.ts';
import { eventually } from './testing/eventually.ts';
import { TestRoom } from './testing/testRoom.ts';

const GIB = 2 ** 30;
/** What the Vulkan device in software has. */
const DEVICE_BYTES = 2 * GIB;

/** Requests so long that the demo model takes `bytes` on a card, to within a few percent. */
async function lengthThatTakes(bytes: number): Promise<number> {
  const shape = modelShape(await openModel(demoModelPath));
  for (let contextLength = 50_000; ; contextLength += 5000) {
    const sizes = servingSizes(shape, { contextLength, slots: 1 });
    if (stageBytes(shape, { start: 0, end: shape.layers.length }, sizes, 'gpu').total >= bytes) return contextLength;
  }
}

const truthsSchema = z.object({
  truths: z.array(z.object({ member: z.string(), backend: z.string(), extraBytes: z.int() })),
});

it('what stages took is kept and shown, for later plans', async () => {
  const room = await TestRoom.forModel(demoModelPath, 2);
  try {
    await room.serve({ modelPath: demoModelPath });
    const [pipeline] = room.lead.models.pipelines();
    const text = await eventually(() => readFile(join(room.homes[0] ?? '', 'memory.json'), 'utf8'));
    const { truths } = truthsSchema.parse(JSON.parse(text));
    expect(truths.map(({ member }) => member).sort()).toEqual(room.members.map(({ id }) => id).sort());
    for (const { member, bytes, takenBytes = Number.NaN } of pipeline?.report.stages ?? []) {
      const truth = truths.find((each) => each.member === member);
      expect(truth).toMatchObject({ backend: 'Cpu', extraBytes: takenBytes - bytes });
      expect(takenBytes).toBeGreaterThan(bytes / 2);
    }
  } finally {
    await room.close();
  }
});

describe.skipIf(!hasSoftwareVulkan())('a card of 2 GiB whose owner offers more', () => {
  it('refuses a stage before the driver does, and the model is planned anew with what fits', async () => {
    const offers = { memoryBytes: 8 * GIB, env: softwareVulkanEnv };
    const room = await TestRoom.open([{ memoryBytes: 1 }, offers, offers]);
    try {
      const contextLength = await lengthThatTakes(1.12 * DEVICE_BYTES);
      const events: ServeEvent[] = [];
      const request = { modelPath: demoModelPath, contextLength, slots: 1, members: room.members };
      const model = await room.lead.models.serve(request, (event) => events.push(event), new AbortController().signal);
      const notes = events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
      expect(notes).toEqual([
        expect.stringMatching(
          /^member-\d has [\d.]+ \wB free where its stage needs [\d.]+ \wB\. The model is planned anew/,
        ),
        expect.stringMatching(
          /^member-\d has [\d.]+ \wB free where its stage needs [\d.]+ \wB\. The model is planned anew/,
        ),
      ]);
      const plans = events.flatMap((event) => (event.type === 'planned' ? [event.placement.length] : []));
      expect(plans).toEqual([1, 1, 2]);
      expect(model.contextLength).toBe(contextLength);
      await room.lead.models.stop(model.id);

      // One card alone cannot: that is said, and the member still serves what it can.
      const [lead, one] = room.members;
      if (lead === undefined || one === undefined) throw new Error('the room has members');
      await expect(room.serve({ ...request, members: [lead, one] })).rejects.toThrow(/fit|hold|room/);
      const small = await room.serve({ modelPath: demoModelPath, contextLength: 512, slots: 1, members: [lead, one] });
      expect(small.placement).toHaveLength(1);
    } finally {
      await room.close();
    }
  }, 240_000);
});
