import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../e2e/testing/eventually.ts';
import { type TestMember, TestPool } from '../../../e2e/testing/testPool.ts';
import type { PipelineNow } from '../../wire/generated/roomful/v1/serving.ts';
import { type ServingHandlers, ServingServer } from '../../wire/servingServer.ts';
import { WireServer } from '../../wire/wireServer.ts';
import { encodeReport, type PipelineReport } from '../numbers/pipelineReport.ts';
import type { RoomMember } from '../placement/servingRoom.ts';
import type { HeldModel } from './heldModel.ts';
import { PoolPipelines } from './poolPipelines.ts';

const MODEL = 'talkative';
const LLAMA = {
  ...{ id: 'c'.repeat(64), name: 'llama', title: 'Llama', parameters: 8e9, quantisation: 'Q4_K_M' },
  ...{ layers: 32, bytes: 4.9e9, embedsOnly: false },
};
let pool: TestPool;
let bob: TestMember;
let driven: PipelineNow[];
let held: HeldModel[];
let state: RoomMember['state'];
let tell: () => void;
let calls: ServingServer;
let server: WireServer;
let others: PoolPipelines;

const report = (id: string, more: Partial<PipelineReport> = {}): PipelineReport => ({
  ...{ id, model: 'c', modelId: MODEL, aliases: [], state: 'serving', failure: null, stages: [], fraction: 0 },
  ...{ contextLength: 1, slots: 1, createdAt: 1, load: 0, tokensPerSecond: null, predicted: null, figures: null },
  draftBytes: 0,
  ...more,
});
const seen = () => others.all().map(({ report: { id, state: now, failure } }) => [id, now, failure?.message ?? null]);
/** Bob is lost to the pool, drives other pipelines meanwhile, and comes back. */
async function loseBob(now: PipelineReport[]): Promise<void> {
  state = 'lost';
  tell();
  expect(seen()).toContainEqual(['first', 'failed', 'bob, which drove this pipeline, is lost.']);
  driven = now.map(encodeReport);
  state = 'alive';
  tell();
}

beforeEach(async () => {
  pool = await TestPool.create();
  bob = await pool.member();
  const ada = await pool.member();
  held = [LLAMA];
  driven = [encodeReport(report('first')), encodeReport(report('second', { modelId: 'other' }))];
  calls = new ServingServer();
  const handlers: Pick<ServingHandlers, 'pipelines' | 'models' | 'onPipelines'> = {
    pipelines: () => driven,
    models: () => held,
    onPipelines: () => () => {},
  };
  calls.attach(handlers as ServingHandlers);
  server = await WireServer.start({ tls: bob.tls, host: '127.0.0.1', port: 0, services: [calls.service] });
  state = 'alive';
  const member = { id: bob.id, name: 'bob', self: false, address: server.address, facts: null, link: null, ways: [] };
  others = new PoolPipelines({
    room: {
      members: () => [{ ...member, state }],
      leader: () => null,
      memberAt: async () => bob.id,
      onChange: (listener) => {
        tell = listener;
        return () => {};
      },
    },
    tls: () => ada.tls,
    onChange: () => {},
    onProblem: (cause) => {
      throw cause;
    },
  });
  await eventually(() =>
    expect(seen()).toEqual([
      ['first', 'serving', null],
      ['second', 'serving', null],
    ]),
  );
});

afterEach(async () => {
  others.close();
  calls.close();
  await server.close();
  await pool.remove();
});

test('what a member drove stays lost, with the reason, though the member has come back without it', async () => {
  await loseBob([report('anew', { modelId: 'third' })]);
  const why = 'bob, which drove this pipeline, was lost and has come back without it.';
  await eventually(() => {
    expect(seen()).toEqual([
      ['anew', 'serving', null],
      ['first', 'failed', why],
      ['second', 'failed', why],
    ]);
  });
  expect(others.forget(MODEL)).toBe(1);
  others.forgetPipeline('second');
  expect(seen()).toEqual([['anew', 'serving', null]]);
});

test('what it still drives is there again', async () => {
  await loseBob([report('first')]);
  await eventually(() => {
    expect(seen().map(([id, now]) => [id, now])).toEqual([
      ['first', 'serving'],
      ['second', 'failed'],
    ]);
  });
});

test('what models a member has is known as long as it is there', async () => {
  expect(others.held()).toEqual([{ holder: 'bob', models: [LLAMA] }]);
  held = [];
  await loseBob([report('first')]);
  await eventually(() => expect(others.held()).toEqual([{ holder: 'bob', models: [] }]));
});
