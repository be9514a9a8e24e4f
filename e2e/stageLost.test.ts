import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readLines } from '../electron/cli/readLines.ts';
import type { ServeEvent } from '../electron/pipeline/serving/serveEvents.ts';
import { talkativeModel } from './models/talkativeModel.ts';
import { eventually } from './testing/eventually.ts';
import { stageHostsOf } from './testing/stageHosts.ts';
import { TestRoom } from './testing/testRoom.ts';

const errorSchema = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.literal('server_error'),
    param: z.null(),
    code: z.literal('stage_lost'),
  }),
});

describe('a stage host that dies in mid-answer', () => {
  let folder: string;
  let room: TestRoom;
  let modelPath: string;
  /** Its id. */
  let model: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-lost-'));
    modelPath = await talkativeModel(folder);
    room = await TestRoom.forModel(modelPath, 3);
  }, 180_000);
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  const memberPids = (): number[] => [process.pid, ...room.others.map((other) => other.process.pid ?? 0)];

  const ask = (fields: object = {}): Promise<Response> =>
    fetch(`${room.lead.gateway}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        temperature: 0,
        messages: [{ role: 'user', content: 'Talk to me.' }],
        ...fields,
      }),
    });

  /** Reads a stream to its end, and ends the victim after five events. */
  async function eventsOf(response: Response, kill: () => void): Promise<string[]> {
    if (response.body === null) throw new Error('no stream');
    const events: string[] = [];
    for await (const line of readLines(response.body)) {
      if (!line.startsWith('data: ')) continue;
      events.push(line.slice('data: '.length));
      if (events.length === 5) kill();
    }
    return events;
  }

  async function stop(): Promise<number> {
    const token = await readFile(room.lead.tokenFile, 'utf8');
    const response = await fetch(`${room.lead.gateway}/api/stop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ model }),
    });
    return response.status;
  }

  it.each([
    ['SIGKILL', 'the lead', 0],
    ['SIGSEGV', 'another member', 1],
    ['SIGKILL', 'yet another', 2],
  ] as const)(
    'of %s on %s ends the answer with a typed error, and the model can be served again',
    async (...victim) => {
      const [signal, , member] = victim;
      const serving = await room.serve({ modelPath });
      expect(serving.placement).toHaveLength(3);
      model = serving.id;
      const host = stageHostsOf(memberPids()[member] ?? 0)[0];
      if (host === undefined) throw new Error('no stage host');

      const events = await eventsOf(await ask({ stream: true }), () => process.kill(host.pid, signal));
      const { message } = errorSchema.parse(JSON.parse(events.at(-1) ?? '')).error;
      expect(message).toMatch(/lost/);
      expect(message).not.toContain('\n');
      for (const event of events.slice(0, -1)) expect(JSON.parse(event)).toHaveProperty('choices');

      // The others give up their stages.
      await eventually(async () => expect(memberPids().flatMap(stageHostsOf)).toEqual([]));

      for (const stream of [false, true]) {
        const refused = await ask({ stream });
        expect(refused.status).toBe(503);
        expect(errorSchema.parse(await refused.json()).error.message).toBe(message);
      }
      expect(await stop()).toBe(200);
      expect((await ask()).status).toBe(404);
      await room.serve({ modelPath });
      expect((await ask({ max_tokens: 3 })).status).toBe(200);
      expect(await stop()).toBe(200);
    },
    120_000,
  );

  it('leaves a model that can be served anew without being stopped', async () => {
    const { id } = await room.serve({ modelPath });
    model = id;
    for (const host of memberPids().flatMap(stageHostsOf)) process.kill(host.pid, 'SIGKILL');
    await eventually(async () => expect((await ask()).status).toBe(503));
    expect(room.lead.models.list()).toEqual([]);
    const why = async (): Promise<string> => errorSchema.parse(await (await ask()).json()).error.message;
    const lost = await why();

    // What comes to nothing changes nothing: refused by the planner, and taken back while it comes up.
    await expect(room.serve({ modelPath, members: room.members.slice(0, 1) })).rejects.toThrow(/fit/);
    expect(await why()).toBe(lost);
    const leave = new AbortController();
    const meanwhile: Promise<string>[] = [];
    const onEvent = ({ type }: ServeEvent): void => {
      if (type !== 'progress' || leave.signal.aborted) return;
      meanwhile.push(why());
      leave.abort(new Error('enough'));
    };
    const { members, lead } = room;
    await expect(lead.models.serve({ modelPath, members }, onEvent, leave.signal)).rejects.toThrow('enough');
    meanwhile.push(why());
    expect(await Promise.all(meanwhile)).toEqual([lost, lost]);

    await room.serve({ modelPath });
    expect((await ask({ max_tokens: 3 })).status).toBe(200);
    // Neither the loss nor who comes too late is shown beside it.
    await expect(room.serve({ modelPath })).rejects.toThrow(/served already/);
    // What was stopped is shown for some seconds.
    const states = lead.models.pipelines().map(({ report }) => report.state);
    expect(states.filter((state) => state !== 'stopped')).toEqual(['serving']);
    expect(await stop()).toBe(200);
    expect((await ask()).status).toBe(404);
  }, 120_000);
});
