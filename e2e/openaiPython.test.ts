import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import { smolLm2 } from './models/smolLm2.ts';
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

const [known] = demoCorpus();
/** What SmolLM2 says is rounded by how it was computed, so that only the demo model's words are known. */
const anyText = expect.stringMatching(/\S{3}/);

describe.skipIf(!isThere).each([
  { name: 'the demo model', path: demoModelPath, answer: known?.answer, finish: 'stop' },
  {
    ...{ name: 'SmolLM2-135M-Instruct', path: isThere ? smolLm2() : null },
    ...{ answer: anyText, finish: expect.stringMatching(/^(stop|length)$/) },
  },
])('the openai package of Python and $name, on three members', ({ path, answer, finish }) => {
  let room: TestRoom;
  let model: ServingModel;

  beforeAll(async () => {
    if (path === null) return;
    room = await TestRoom.forModel(path, 3);
    model = await room.serve({ modelPath: path });
    expect(model.placement).toHaveLength(3);
  }, 180_000);
  afterAll(() => room?.close());

  it.skipIf(path === null)(
    'chats, streams, calls a tool in two turns, is given log probabilities, JSON of a schema, responses and embeddings, and leaves',
    async () => {
      const args = [script, `${room.lead.gateway}/v1`, model.id, known?.questions[0] ?? ''];
      const { stdout } = await promisify(execFile)(python, args, { env: pythonEnv });
      const seen = JSON.parse(stdout);
      expect(seen).toMatchObject({
        models: [model.id],
        whole: answer,
        streamed: answer,
        finish,
        usage_adds_up: true,
        usage_last: true,
        logprobs: [2, 2, 2],
        logprobs_of_text: true,
        called: ['tool_calls', 'weather', ['city']],
        after_call: expect.stringMatching(/^(stop|length|tool_calls)$/),
        response: answer,
        response_streamed: answer,
        embeddings: [1, 1],
        base64_is_float: true,
        aborted: true,
        unknown: ['model_not_found', 'model'],
      });
      const [counted, streamedTokens] = seen.counted;
      expect(Math.min(counted, streamedTokens)).toBeGreaterThan(3);
      if (path === demoModelPath) expect(streamedTokens).toBe(counted);
      expect(['hop', 'stage']).toContain(seen.json.kind);
      expect(Object.keys(seen.json).sort()).toEqual(['kind', 'sure']);
      await vi.waitUntil(() => room.lead.models.numbers()[0]?.numbers.running === 0, { timeout: 30_000 });
    },
    120_000,
  );
});
