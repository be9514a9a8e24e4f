import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelShape } from '../electron/gguf/modelShape.ts';
import { openModel } from '../electron/gguf/openModel.ts';
import { greedySampling } from '../electron/pipeline/sampling/plainSampling.ts';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import type { GeneratedToken } from '../electron/pipeline/serving/servedModel.ts';
import { talkativeModel } from './models/talkativeModel.ts';
import { CountingLauncher } from './testing/countingLauncher.ts';
import { demoPrompt } from './testing/demoCorpus.ts';
import { generated } from './testing/generated.ts';
import { sharesOf, TestRoom } from './testing/testRoom.ts';

/** One seat, so that whoever waits shows when it is free. */
const sizes = { contextLength: 4096, slots: 1 };
/** Tokens that nobody waits for. */
const longAnswer = 1000;
const question = 'Talk to me.';
const otherPrompt = [400, 401, 402];

describe('a client that leaves in mid-answer', () => {
  let folder: string;
  let room: TestRoom;
  let model: ServingModel;
  const launchers = [0, 1, 2].map(() => new CountingLauncher());

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-leaves-'));
    const modelPath = await talkativeModel(folder);
    const shares = sharesOf([modelShape(await openModel(modelPath))], 3, sizes);
    room = await TestRoom.open(
      shares.map((share, index) => ({ ...share, launcher: launchers[index] ?? new CountingLauncher() })),
    );
    model = await room.serve({ modelPath, ...sizes });
    expect(model.placement).toHaveLength(3);
  }, 180_000);
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  const steps = (): Promise<number[]> => Promise.all(launchers.map((launcher) => launcher.steps()));

  /** The steps of every stage once they have stopped to come. */
  async function stepsAtRest(): Promise<number[]> {
    for (let before = await steps(); ; ) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      const now = await steps();
      if (now.every((count, stage) => count === before[stage])) return now;
      before = now;
    }
  }

  it('stops every stage, and who waits gets the seat', async () => {
    const before = await stepsAtRest();
    const leaving = await streamedAnswer(room.port, model.id);
    for (let events = 0; events < 5; events += 1) await once(leaving, 'data');
    const waiting = generated(model, otherPrompt, 4);
    leaving.destroy();
    const answer = await waiting;
    const after = await stepsAtRest();
    for (const [stage, count] of after.entries()) {
      const computed = count - (before[stage] ?? 0) - answer.length;
      // Drafts may have brought several tokens with a step.
      expect(computed).toBeGreaterThan(0);
      expect(computed).toBeLessThan(longAnswer);
    }
    expect(new Set(after).size).toBe(1);

    const prompt = await model.tokenize(demoPrompt(question), { addSpecial: false, parseSpecial: true });
    expect(await generated(model, prompt, longAnswer), 'had it stayed').toHaveLength(longAnswer);
  }, 120_000);

  it('costs one step at most from then on', async () => {
    const { tokens, leave } = await answering(model);
    leave.abort(new Error('gone'));
    const atAbort = await steps();
    const after = await stepsAtRest();
    // The step that was under way, and one without tokens that frees the seat.
    for (const [stage, count] of after.entries()) expect(count - (atAbort[stage] ?? 0)).toBeLessThanOrEqual(2);
    expect(new Set(after).size).toBe(1);
    await expect(drained(tokens)).rejects.toThrow('gone');
  });

  it('gives its seat to the next within one step', async () => {
    const { tokens, leave } = await answering(model);
    const next = generated(model, otherPrompt, 1);
    leave.abort(new Error('gone'));
    const atAbort = await steps();
    await next;
    const after = await steps();
    // The step that was under way, the other's prompt, and one without tokens that frees the seat again.
    for (const [stage, count] of after.entries()) expect(count - (atAbort[stage] ?? 0)).toBeLessThanOrEqual(3);
    await expect(drained(tokens)).rejects.toThrow('gone');
  });
});

/** An answer of which five tokens have come. */
async function answering(model: ServingModel) {
  const leave = new AbortController();
  const request = { promptTokens: [300, 301], maxTokens: longAnswer, sampling: greedySampling };
  const tokens = model.generate(request, leave.signal)[Symbol.asyncIterator]();
  for (let count = 0; count < 5; count += 1) await tokens.next();
  return { tokens, leave };
}

async function streamedAnswer(port: number, model: string): Promise<IncomingMessage> {
  const headers = { 'content-type': 'application/json' };
  const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path: '/v1/chat/completions', headers });
  const messages = [{ role: 'user', content: question }];
  request.end(JSON.stringify({ model, messages, temperature: 0, max_tokens: longAnswer, stream: true }));
  const [response] = await once(request, 'response');
  return response;
}

async function drained(tokens: AsyncIterator<GeneratedToken>): Promise<void> {
  while (!(await tokens.next()).done);
}
