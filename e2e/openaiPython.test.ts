import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { hasPythonClient, python, pythonEnv } from './testing/pythonClient.ts';
import { TestRoom } from './testing/testRoom.ts';

const script = fileURLToPath(new URL('programs/openaiUser.py', import.meta.url));

const isThere = hasPythonClient({ fetches: true });
if (!isThere) {
  process.stderr.write(
    'SKIPPED: the Python client. It needs python3 with the package openai, or pip that can fetch it.\n',
  );
}

describe.skipIf(!isThere)('the openai package of Python, against three members', () => {
  let room: TestRoom;
  let model: ServingModel;
  const [known] = demoCorpus();

  beforeAll(async () => {
    room = await TestRoom.forModel(demoModelPath, 3);
    model = await room.serve({ modelPath: demoModelPath });
    expect(model.placement).toHaveLength(3);
  }, 180_000);
  afterAll(() => room.close());

  it('chats, streams, calls a tool in two turns, is given log probabilities, JSON of a schema, responses and embeddings, and leaves', async () => {
    const args = [script, `${room.lead.gateway}/v1`, model.id, known?.questions[0] ?? ''];
    const { stdout } = await promisify(execFile)(python, args, { env: pythonEnv });
    const seen = JSON.parse(stdout);
    expect(seen).toMatchObject({
      models: [model.id],
      whole: known?.answer,
      streamed: known?.answer,
      finish: 'stop',
      usage_adds_up: true,
      usage_last: true,
      called: ['tool_calls', 'weather', ['city']],
      after_call: expect.stringMatching(/^(stop|length|tool_calls)$/),
      response: known?.answer,
      response_streamed: known?.answer,
      embeddings: [1, 1],
      base64_is_float: true,
      aborted: true,
      unknown: ['model_not_found', 'model'],
    });
    expect(seen.logprobs).toHaveLength(3);
    for (const [token, count] of seen.logprobs) expect([known?.answer.includes(token), count]).toEqual([true, 2]);
    expect(['hop', 'stage']).toContain(seen.json.kind);
    expect(Object.keys(seen.json).sort()).toEqual(['kind', 'sure']);
    await vi.waitUntil(() => room.lead.models.numbers()[0]?.numbers.running === 0, { timeout: 30_000 });
  }, 120_000);
});
