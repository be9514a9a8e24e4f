import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cutStage } from '../../electron/gguf/cutStage.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import { wireSampling } from '../../electron/pipeline/sampling/wireSampling.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import type { NativeStage, NativeStep } from '../../electron/stage/nativeAddon.ts';
import { StageRunner } from '../../electron/stage/stageRunner.ts';
import { followRing } from '../../electron/wire/followRing.ts';
import { RunEmbed, type StepFrame } from '../../electron/wire/generated/roomful/v1/ring.ts';
import { RingServer } from '../../electron/wire/ringServer.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';
import { CopyTrace } from '../testing/copyTrace.ts';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { stepFrame } from '../testing/stepFrame.ts';
import { TestPool } from '../testing/testPool.ts';

const [PIPELINE, EPOCH] = ['copies', { counter: 1, coordinator: 'test' }];
/** The first fit into one HTTP/2 frame, the others take many. */
const SIZES = [16, 200];

let pool: TestPool;
let trace: CopyTrace;
beforeEach(async () => {
  pool = await TestPool.create();
  trace = new CopyTrace();
});
afterEach(async () => {
  trace.end();
  await pool.remove();
});

test.each(SIZES)('activations of %i rows are copied twice at most between addon and socket, each way', async (rows) => {
  const [first, last] = [await stageOf(0), await stageOf(1)];
  const [sender, receiver] = [await pool.member(), await pool.member()];
  const ring = new RingServer();
  const server = await WireServer.start({ tls: sender.tls, host: '127.0.0.1', port: 0, services: [ring.service] });
  const place = { pipeline: PIPELINE, epoch: EPOCH, position: 1 };
  const outlet = ring.open({ ...place, follower: receiver.id });
  const link = await followRing({ ...place, address: server.address, member: sender.id, tls: receiver.tls });
  const common = { pipeline: PIPELINE, epoch: EPOCH, slots: 1, batch: 256 };

  const given = first.runner({ ...common, role: 'first', position: 0, send: (frame) => outlet.send(frame) });
  const answers: StepFrame[] = [];
  const taken = last.runner({
    ...common,
    role: 'last',
    position: 1,
    send: async (frame) => {
      answers.push(frame);
      link.close();
    },
  });
  const reading = taken.run(link);
  const tokens = Array.from({ length: rows }, (_, index) => 3 + (index % 50));
  const sampling = wireSampling(greedySampling, rows);
  const run = {
    slot: 0,
    generation: 1,
    start: 0,
    tokens,
    sampling,
    sample: true,
    drafts: 0,
    embed: RunEmbed.RUN_EMBED_NONE,
    copyFrom: undefined,
  };
  const frame = stepFrame({ pipeline: PIPELINE, epoch: EPOCH, step: 1, runs: [run], exact: true });
  await given.run(only(frame));
  await reading;

  expect(answers[0]?.committed[0]?.tokens).toHaveLength(1);
  const [output, input] = [memoryOf(first.steps[0]?.output), memoryOf(last.steps[0]?.input?.bytes)];
  expect(trace.copies([output], trace.sent)).toBeLessThanOrEqual(2);
  expect(trace.copies(trace.received, new Set([input]))).toBeLessThanOrEqual(2);

  await server.close();
  await Promise.all([first.native.unload(), last.native.unload()]);
});

test('a copy too many is counted, and one that is made in another way is noticed', () => {
  const memory = Buffer.alloc(4096);
  const twice = Buffer.concat([Buffer.concat([memory])]);
  const thrice = Buffer.alloc(4096);
  twice.copy(thrice);
  expect(trace.copies([memory.buffer], new Set([twice.buffer]))).toBe(2);
  expect(trace.copies([memory.buffer], new Set([thrice.buffer]))).toBe(3);
  expect(trace.copies([memory.buffer], new Set([Uint8Array.from(thrice).buffer]))).toBe(Number.POSITIVE_INFINITY);
});

/** A half of the demo model, with the steps that it was given. */
async function stageOf(half: 0 | 1) {
  const model = await openModel(demoModelPath);
  const middle = model.layers >> 1;
  const range = half === 0 ? { start: 0, end: middle } : { start: middle, end: model.layers };
  const file = await cutStage(model, range, join(pool.home, `stage-${half}.gguf`));
  const { path, role, layers, embedding, vocabulary } = file;
  const sizes = { contextLength: 512, slots: 1, batch: 256, threads: 1, gpuLayers: 0, maxOutputs: 1 };
  const options = { path, role, layers, embedding, vocabulary, ...sizes, device: null, kvType: 'f16' } as const;
  const native = await loadAddon().addon.loadStage(options, () => {});
  const steps: NativeStep[] = [];
  const watched: NativeStage = Object.create(native, {
    embeddingLength: { value: native.embeddingLength },
    decode: {
      value: (step: NativeStep) => {
        steps.push(step);
        return native.decode(step);
      },
    },
  });
  const runner = (rest: Omit<ConstructorParameters<typeof StageRunner>[0], 'native'>): StageRunner =>
    new StageRunner({ native: watched, ...rest });
  return { native, steps, runner };
}

async function* only(frame: StepFrame): AsyncGenerator<StepFrame> {
  yield frame;
}

function memoryOf(bytes: Uint8Array | null | undefined): ArrayBufferLike {
  if (!bytes) throw new Error('The step has no activations.');
  return bytes.buffer;
}
