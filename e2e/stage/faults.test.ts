import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { EngineClient } from '../../electron/stage/engineClient.ts';
import { HostCrashed, type HostError, HostRefused } from '../../electron/stage/hostError.ts';
import type { NativeLoadOptions } from '../../electron/stage/nativeAddon.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { processStart } from '../../electron/stage/processStart.ts';
import { StageClient } from '../../electron/stage/stageClient.ts';
import { followRing } from '../../electron/wire/followRing.ts';
import { LinkLost } from '../../electron/wire/wireError.ts';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';

import { TestPool } from '../testing/testPool.ts';
import { EPOCH, PIPELINE, TestRing } from '../testing/testRing.ts';

let pool: TestPool;
let ring: TestRing | null = null;
const dist = fileURLToPath(new URL('../../dist/electron', import.meta.url));

beforeAll(async () => {
  pool = await TestPool.create();
});

afterEach(async () => {
  await ring?.close();
  ring = null;
});

afterAll(async () => {
  await pool.remove();
});

async function form(cuts: number[]): Promise<TestRing> {
  ring = await TestRing.form({ pool, modelPath: demoModelPath, cuts, exact: false });
  return ring;
}

function pidOf(client: { pid: number | undefined } | undefined): number {
  if (client?.pid === undefined) throw new Error('no process');
  return client.pid;
}

const wholeDemo: NativeLoadOptions = {
  path: demoModelPath,
  role: 'whole',
  layers: 12,
  embedding: null,
  vocabulary: null,
  contextLength: 64,
  slots: 1,
  batch: 8,
  threads: 1,
  gpuLayers: 0,
  device: null,
  kvType: 'f16',
  maxOutputs: 1,
};

async function loneStage(onLost: (error: HostError) => void = () => {}): Promise<StageClient> {
  return StageClient.start(nodeLauncher, { onLinkLost: () => {}, onLost });
}

async function place() {
  const member = await pool.member();
  return { pipeline: PIPELINE, epoch: EPOCH, position: 0, follower: member.id, host: '127.0.0.1', tls: member.tls };
}

test('a stage host that crashes is a typed error, its neighbours are told, and the loss goes round the ring', async () => {
  const { stages, news, link, outletLost } = await form([0, 4, 8]);
  const asked = stages[1]?.memory().catch((error: unknown) => error);
  const returned = link.next().catch((error: unknown) => error);
  process.kill(pidOf(stages[1]), 'SIGSEGV');

  expect(await returned).toBeInstanceOf(LinkLost);
  await eventually(() => {
    expect(news).toContainEqual({ stage: 0, what: 'downstream' });
    expect(news).toContainEqual({ stage: 2, what: 'upstream' });
    expect(news).toContainEqual({ stage: 1, what: 'lost', error: expect.any(HostCrashed) });
    expect(outletLost).toHaveLength(1);
  });
  expect(news).toHaveLength(3);
  const lost = news.find(({ what }) => what === 'lost')?.error;
  expect(lost).toMatchObject({ kind: 'HostCrashed', host: 'stage', signal: 'SIGSEGV' });
  // Asked just before the signal: answered, or rejected with the crash, and never left hanging.
  expect([lost, expect.objectContaining({ weightBytes: expect.any(Number) })]).toContainEqual(await asked);
  await expect(stages[1]?.memory()).rejects.toBe(lost);
  expect(await stages[0]?.memory()).toHaveProperty('weightBytes');
});

test('a stage that hangs without closing anything loses its links, runs into deadlines and can still be ended', async () => {
  const { stages, news, link } = await form([0, 6]);
  const pid = pidOf(stages[1]);
  process.kill(pid, 'SIGSTOP');
  const asked = stages[1]?.memory();
  await Promise.all([
    expect(link.next()).rejects.toBeInstanceOf(LinkLost),
    expect(asked).rejects.toMatchObject({ kind: 'HostTimedOut' }),
    eventually(() => expect(news).toContainEqual({ stage: 0, what: 'downstream' })),
  ]);
  await stages[1]?.close();
  expect(await processStart(pid)).toBeNull();
});

test('a coordinator that says goodbye ends the ring without a loss, and no process stays', async () => {
  const { stages, news, outlet, link } = await form([0, 6]);
  const pids = stages.map(pidOf);
  await outlet.close();
  expect(await link.next()).toEqual({ done: true, value: undefined });
  await eventually(() => expect(news.map(({ what }) => what)).toEqual(['ended', 'ended']));
  await Promise.all(stages.map((stage) => stage.close()));
  for (const pid of pids) expect(await processStart(pid)).toBeNull();
});

test('a coordinator that is cut off is an upstream loss of the first stage', async () => {
  const { news, outlet, link } = await form([0, 6]);
  outlet.abort();
  await expect(link.next()).rejects.toBeInstanceOf(LinkLost);
  await eventually(() => expect(news).toContainEqual({ stage: 0, what: 'upstream' }));
});

test('only the follower of the right epoch and pipeline gets at the output of a stage', async () => {
  const { addresses, members, coordinator } = await form([0]);
  const [address = '', member = ''] = [addresses[0], members[0]?.id];
  const right = { address, member, tls: coordinator.tls, pipeline: PIPELINE, epoch: EPOCH, position: 1 };
  const refused = (reason: string) => expect.objectContaining({ name: 'CallRefused', reason });
  const stranger = await pool.member();
  const foreign = await TestPool.create();
  await expect(followRing({ ...right, tls: stranger.tls })).rejects.toEqual(refused('WrongMember'));
  await expect(followRing({ ...right, epoch: { ...EPOCH, counter: 6 } })).rejects.toEqual(refused('StaleEpoch'));
  await expect(followRing({ ...right, pipeline: 'other' })).rejects.toEqual(refused('WrongPipeline'));
  await expect(followRing({ ...right })).rejects.toEqual(refused('PlaceTaken'));
  const { tls } = await foreign.member();
  await expect(followRing({ ...right, tls })).rejects.toMatchObject({ name: 'PeerUnreachable' });
  await foreign.remove();
});

test('a file that llama.cpp cannot load is refused with its reason, and the host leaves in good order', async () => {
  const stage = await loneStage();
  const pid = pidOf(stage);
  const error = await stage
    .load({ ...wholeDemo, path: `${demoModelPath}.missing` }, await place())
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(HostRefused);
  expect(error).toMatchObject({ code: 'LoadFailed', message: expect.stringContaining('demo.gguf.missing') });
  await stage.close();
  expect(await processStart(pid)).toBeNull();
});

test('a stage reports its progress and memory, and refuses orders out of turn', async () => {
  const seen: number[] = [];
  const stage = await StageClient.start(nodeLauncher, {
    onLinkLost: () => {},
    onLost: () => {},
    onProgress: (fraction) => seen.push(fraction),
  });
  const predecessor = { address: '127.0.0.1:1', member: 'm' };
  await expect(stage.link(predecessor)).rejects.toMatchObject({ code: 'WrongOrder' });
  const loaded = await stage.load(wholeDemo, await place());
  expect(loaded).toMatchObject({ embeddingLength: 192, vocabularySize: 1536 });
  expect(seen.at(-1)).toBe(1);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect((await stage.memory()).weightBytes).toBeGreaterThan(4_000_000);
  await expect(stage.load(wholeDemo, await place())).rejects.toMatchObject({ code: 'WrongOrder' });
  await expect(stage.link(predecessor)).rejects.toMatchObject({ code: 'PeerUnreachable' });
  await stage.close();
  await expect(stage.memory()).rejects.toMatchObject({ kind: 'HostClosed' });
});

test('a host that dies while it starts or loads rejects what waited, and nothing stays', async () => {
  const lost: HostError[] = [];
  const stage = await loneStage((error) => lost.push(error));
  const loading = stage.load(wholeDemo, await place());
  process.kill(pidOf(stage), 'SIGKILL');
  await expect(loading).rejects.toMatchObject({ kind: 'HostCrashed', signal: 'SIGKILL' });
  expect(lost).toHaveLength(1);
  await stage.close();
});

test('the engine host tells devices, tokenizes, and its crash is a typed error too', async () => {
  const lost: HostError[] = [];
  const engine = await EngineClient.start(nodeLauncher, (error) => lost.push(error));
  expect((await engine.devices()).some(({ kind, totalBytes }) => kind === 'cpu' && totalBytes > 0)).toBe(true);
  const vocabulary = await engine.openVocabulary(demoModelPath);
  const text = 'What is a hop?<|im_end|>';
  const tokens = await vocabulary.tokenize(text, { addSpecial: false, parseSpecial: true });
  const { bytes, offsets } = vocabulary.pieces;
  const pieces = [...tokens].map((token) => bytes.subarray(offsets[token], offsets[token + 1]));
  expect(Buffer.concat(pieces).toString()).toBe('What is a hop?');
  expect(vocabulary.endTokens.has(tokens.at(-1) ?? -1)).toBe(true);
  expect(vocabulary).toMatchObject({ size: 1536, addsBos: false });
  await vocabulary.close();
  await expect(vocabulary.tokenize('x', { addSpecial: false, parseSpecial: false })).rejects.toBeInstanceOf(
    HostRefused,
  );
  await expect(engine.openVocabulary('/nowhere.gguf')).rejects.toBeInstanceOf(HostRefused);

  process.kill(pidOf(engine), 'SIGSEGV');
  await eventually(() => expect(lost).toMatchObject([{ kind: 'HostCrashed', host: 'engine', signal: 'SIGSEGV' }]));
  await engine.close();
});

test('what is no request is refused, and the host goes on', async () => {
  const replies: unknown[] = [];
  const gone = new Promise<void>((resolve) => {
    const child = nodeLauncher.launch('engine', {
      onSpawn: () => {},
      onMessage: (message) => replies.push(message),
      onStderr: () => {},
      onExit: () => resolve(),
    });
    const requests = [
      'garbage',
      { id: 'one', method: 'devices', params: null },
      { id: 1, method: 'constructor', params: null },
      { id: 2, method: 'boot', params: { parentPid: 'me' } },
      { id: 3, method: 'devices', params: null },
      { id: 4, method: 'boot', params: { parentPid: process.pid }, extra: true },
      { id: 5, method: 'leave', params: null },
    ];
    for (const request of requests) child.send(request);
  });
  await gone;
  const refused = (id: number, code: string) => ({ id, error: { code, message: expect.any(String) } });
  // In any order: each request is answered when its handler has.
  expect(replies).toHaveLength(7);
  for (const reply of [
    refused(1, 'BadRequest'),
    refused(2, 'BadRequest'),
    refused(3, 'WrongOrder'),
    { id: 5, result: null },
  ]) {
    expect(replies).toContainEqual(reply);
  }
  expect(replies.filter((reply) => JSON.stringify(reply).includes('"id":0'))).toHaveLength(3);
});

// A stopped process is the strongest kind of a blocked loop; only the kernel can end it then.
test.runIf(process.platform === 'linux')('hosts go when their parent is killed, even with a blocked loop', async () => {
  const script = `
    import { StageClient } from '${dist}/stage/stageClient.js';
    import { EngineClient } from '${dist}/stage/engineClient.js';
    import { nodeLauncher } from '${dist}/stage/nodeLauncher.js';
    const stage = await StageClient.start(nodeLauncher, { onLinkLost() {}, onLost() {} });
    const engine = await EngineClient.start(nodeLauncher, () => {});
    process.kill(stage.pid, 'SIGSTOP');
    console.log(JSON.stringify([stage.pid, engine.pid]));
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(parent.stdout, 'data');
  const pids: number[] = JSON.parse(String(line));
  for (const pid of pids) expect(await processStart(pid)).not.toBeNull();
  parent.kill('SIGKILL');
  for (const pid of pids) await eventually(async () => expect(await processStart(pid)).toBeNull());
});
