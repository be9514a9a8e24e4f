/**
 * One scenario of the addon in a process of its own, for what a test cannot do in its own process: end, be orphaned, run
 * under a sanitizer. `node addonScenario.mjs ADDON LIBRARIES MODEL SCENARIO [ARG]`; exits 0 when all went as it should.
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

const argv = isMainThread ? process.argv.slice(2) : workerData;
const [addonPath, librariesFolder, modelPath, scenario, arg] = argv;
const addon = createRequire(import.meta.url)(addonPath);
addon.open(librariesFolder);

const ignore = () => undefined;
const greedy = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: null,
  grammar: null,
  promptLength: 0,
  topLogprobs: null,
  seed: 0n,
  choice: 0,
};
const options = {
  path: modelPath,
  role: 'whole',
  layers: 12,
  embedding: null,
  vocabulary: null,
  contextLength: 4096,
  slots: 2,
  batch: 2048,
  threads: 1,
  gpuLayers: 0,
  device: null,
  kvType: 'f16',
  maxOutputs: 2,
};
const load = (changes = {}, onProgress = ignore, signal) =>
  addon.loadStage({ ...options, ...changes }, onProgress, signal);
const step = (count, sampling = greedy) => ({
  runs: [{ slot: 0, start: 0, tokens: new Int32Array(count).fill(7), truncateTo: 0, sampling }],
  input: null,
  output: null,
  outputFormat: 'f32',
});
const rejectsWith = (promise, code) => assert.rejects(promise, { code });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const scenarios = {
  /** Whatever the surface offers, the bad ways included. */
  async everything() {
    assert.ok((await addon.readSpeed({ device: 'CPU', threads: 1, budgetMs: 1 })) > 0);
    await rejectsWith(addon.readSpeed({ device: 'none', threads: 1, budgetMs: 1 }), 'BadArgument');
    await rejectsWith(addon.readSpeed({ device: 'CPU', threads: 0, budgetMs: 1 }), 'BadArgument');
    const vocabulary = await addon.loadVocabulary(modelPath);
    assert.equal(vocabulary.size, 1536);
    assert.equal(vocabulary.pieces().offsets.length, 1537);
    const tokens = vocabulary.tokenize('What is a hop? ', { addSpecial: true, parseSpecial: true });
    vocabulary.free();
    assert.throws(() => vocabulary.endTokens(), { code: 'Unloaded' });
    await rejectsWith(load({ path: fileURLToPath(import.meta.url) }), 'LoadFailed');
    await rejectsWith(addon.loadVocabulary(fileURLToPath(import.meta.url)), 'LoadFailed');
    await rejectsWith(load({ batch: -1 }), 'BadArgument');
    const abort = new AbortController();
    await rejectsWith(
      load({}, () => abort.abort(), abort.signal),
      'Cancelled',
    );

    const stage = await load({ threads: 2 });
    stage.memory();
    const run = { slot: 0, start: 0, tokens, truncateTo: null, sampling: greedy };
    const plain = { input: null, output: null, outputFormat: 'f32' };
    const { sampled } = await stage.decode({ ...plain, runs: [run] });
    const drawn = { ...run, slot: 1, sampling: { ...greedy, temperature: 1, topP: 0.9, seed: 3n, choice: 1 } };
    const next = { ...run, start: tokens.length, tokens: Int32Array.of(sampled[0].token) };
    await stage.decode({ ...plain, runs: [next, drawn] });
    await rejectsWith(stage.decode({ ...plain, runs: [run] }), 'BadArgument');
    await rejectsWith(stage.decode({ ...plain, runs: [drawn, drawn] }), 'BadArgument');
    await rejectsWith(stage.decode(null), 'BadArgument');
    const pad = { slot: 1, start: 0, tokens: new Int32Array(0), truncateTo: null, sampling: null, padRows: 3 };
    const more = { ...next, start: tokens.length + 1 };
    assert.equal((await stage.decode({ ...plain, runs: [more, pad] })).sampled[0].position, tokens.length + 2);
    await rejectsWith(stage.decode({ ...plain, runs: [{ ...pad, padRows: 65 }] }), 'BadArgument');
    await rejectsWith(stage.decode({ ...plain, runs: [{ ...drawn, padRows: 1 }] }), 'BadArgument');
    await stage.truncate(0, 3);
    await stage.closeSlot(1);
    await stage.copyPrefix(0, 1, 3);
    await rejectsWith(stage.copyPrefix(0, 1, 99), 'BadArgument');
    const cancelled = [stage.decode(step(1500)), stage.decode(step(1500))];
    stage.cancel();
    for (const promise of cancelled) await rejectsWith(promise, 'Cancelled');
    const drained = stage.decode(step(4));
    const unloaded = stage.unload();
    await rejectsWith(stage.decode(step(4)), 'Unloaded');
    assert.equal((await drained).sampled.length, 1);
    await unloaded;
    assert.throws(() => stage.memory(), { code: 'Unloaded' });
  },

  /** Every sampler, its state as the slot is cut, copied and closed, drafts taken and rejected, and grammars of all kinds. */
  async sampling() {
    const vocabulary = await addon.loadVocabulary(modelPath);
    const grammar = 'root ::= [a-z ]+ "." root | "end"';
    assert.equal(vocabulary.grammarProblem(grammar), null);
    assert.match(vocabulary.grammarProblem('rot ::= "a"'), /root/);
    vocabulary.free();
    const stage = await load({ maxOutputs: 5 });
    const sampling = {
      ...greedy,
      temperature: 1.2,
      topK: 50,
      topP: 0.95,
      minP: 0.001,
      repetitionPenalty: 1.2,
      frequencyPenalty: 0.5,
      presencePenalty: 0.5,
      logitBias: { tokens: Int32Array.of(5, 99_999, 7), biases: Float32Array.of(3, 1, -100) },
      grammar,
      promptLength: 3,
      topLogprobs: 5,
      seed: 9n,
    };
    const plain = { input: null, output: null, outputFormat: 'f32' };
    const send = (run) => stage.decode({ ...plain, runs: [{ slot: 0, truncateTo: null, sampling, ...run }] });
    for (const how of [sampling, { ...sampling, temperature: 0 }]) {
      await stage.closeSlot(0);
      const first = await send({ start: 0, tokens: Int32Array.of(7, 8, 9), sampling: how });
      const [{ token, top }] = first.sampled;
      assert.equal(top.length, 5);
      const tried = await send({ start: 3, tokens: Int32Array.of(token, 1, 2, 3, 4), drafts: 4, sampling: how });
      assert.ok(tried.sampled.length >= 1);
      const ahead = await send({ start: 8, tokens: Int32Array.of(1, 2), drafts: 2, sampling: how });
      assert.deepEqual([ahead.sampled.length, ahead.dropped], [0, 1]);
      const right = tried.sampled[0].token;
      const next = await send({ start: 4, tokens: Int32Array.of(right), truncateTo: 4, sampling: how });
      assert.equal(next.sampled.length, 1);
      const again = await send({
        start: 3,
        tokens: Int32Array.of(token, right),
        drafts: 1,
        truncateTo: 3,
        sampling: how,
      });
      assert.deepEqual(
        again.sampled.map((one) => one.token),
        [right, next.sampled[0].token],
      );
    }
    await stage.copyPrefix(0, 1, 4);
    const wrong = await send({
      slot: 1,
      start: 4,
      tokens: Int32Array.of(2),
      sampling: { ...sampling, promptLength: 0 },
    });
    assert.match(wrong.failures[0].message, /does not follow/);
    const unread = await send({
      slot: 1,
      start: 5,
      tokens: Int32Array.of(2),
      sampling: { ...sampling, grammar: 'root' },
    });
    assert.match(unread.failures[0].message, /cannot be read/);
    await rejectsWith(send({ start: 0, tokens: Int32Array.of(2), truncateTo: 0, drafts: 2 }), 'BadArgument');
    await stage.unload();
  },

  /** A first and a last stage, given as JSON of their load options; f16 and f32 through odd offsets. */
  async pipeline() {
    const [first, last] = await Promise.all(JSON.parse(arg).map((changes) => load(changes)));
    for (const outputFormat of ['f16', 'f32']) {
      const given = step(33, null);
      const output = new Uint8Array(33 * first.embeddingLength * 4 + 1).subarray(1);
      const { format, byteLength } = await first.decode({ ...given, output, outputFormat });
      assert.equal(format, outputFormat);
      const input = { format, bytes: output.subarray(0, byteLength) };
      const { sampled } = await last.decode({ ...step(33), input });
      assert.equal(sampled[0].position, 33);
      const one = { ...given.runs[0], start: 33, tokens: Int32Array.of(7), truncateTo: null };
      const pad = { ...one, slot: 1, start: 0, tokens: new Int32Array(0), padRows: 1 };
      const padded = await first.decode({ ...given, runs: [one, pad], output, outputFormat });
      const row = { format: padded.format, bytes: output.subarray(0, padded.byteLength) };
      assert.equal(row.bytes.length, first.embeddingLength * (outputFormat === 'f16' ? 2 : 4));
      await last.decode({ ...given, runs: [{ ...one, sampling: greedy }, pad], input: row });
    }
    await Promise.all([first.unload(), last.unload()]);
  },

  /** An embedder, the model of `arg`: several texts at once, what it refuses, and a step that is cancelled. */
  async texts() {
    const stage = await load({ path: arg, role: 'embedder', layers: 2, contextLength: 192, slots: 3, batch: 64 });
    assert.ok(stage.memory().computeBytes > 0);
    const plain = { input: null, output: null, outputFormat: 'f32' };
    const text = (slot, ...tokens) => {
      return { slot, start: 0, tokens: Int32Array.from(tokens), truncateTo: 0, sampling: null, embed: 'pooled' };
    };
    const send = (...runs) => stage.decode({ ...plain, runs });
    const { hidden, sampled } = await send(text(2, 2, 9, 3), text(0, 2, 3), text(1, ...new Array(59).fill(9)));
    assert.deepEqual(sampled, []);
    assert.deepEqual(
      hidden.map(({ slot, values }) => [slot, values.length, values.every(Number.isFinite)]),
      [2, 0, 1].map((slot) => [slot, 64, true]),
    );
    const alone = await send(text(0, 2, 9, 3));
    assert.ok(alone.hidden[0].values.every((value, index) => Math.abs(value - hidden[0].values[index]) < 1e-4));
    for (const wrong of [
      text(0, ...new Array(65).fill(9)),
      text(0, 9999),
      { ...text(0, 2, 3), start: 1 },
      { ...text(0, 2, 3), embed: 'sum' },
      { ...text(0, 2, 3), embed: 'other' },
      { ...text(0, 2, 3), embed: null, sampling: greedy },
    ]) {
      await rejectsWith(send(wrong), 'BadArgument');
    }
    await stage.closeSlot(0);
    await stage.truncate(1, 0);
    await rejectsWith(stage.copyPrefix(0, 1, 1), 'BadArgument');
    const many = Array.from({ length: 200 }, () => send(text(0, ...new Array(64).fill(9))));
    const settled = Promise.allSettled(many);
    stage.cancel();
    assert.equal((await settled).at(-1).reason.code, 'Cancelled');
    assert.equal((await send(text(0, 2, 3))).hidden.length, 1);
    await stage.unload();
    await rejectsWith(load({ path: arg }), 'LoadFailed');
  },

  /** A last row in place of a token, after chunks that give nothing; and what a model that writes text refuses. */
  async lastRow() {
    const stage = await load();
    const plain = { input: null, output: null, outputFormat: 'f32' };
    const send = (run) => stage.decode({ ...plain, runs: [{ slot: 0, truncateTo: null, sampling: null, ...run }] });
    const tokens = Int32Array.from({ length: 9 }, (_, index) => 300 + index);
    const { hidden: none } = await send({ start: 0, tokens: tokens.subarray(0, 5) });
    assert.deepEqual(none, []);
    const { hidden } = await send({ start: 5, tokens: tokens.subarray(5), embed: 'last' });
    await stage.closeSlot(0);
    await send({ start: 0, tokens: tokens.subarray(0, 8) });
    const { hidden: summed } = await send({ start: 8, tokens: tokens.subarray(8), embed: 'sum' });
    const [last, sum] = [hidden[0].values, summed[0].values];
    const size = Math.hypot(...sum) / Math.sqrt(sum.length);
    assert.ok(last.every((value, index) => Math.abs(value - sum[index]) < 1e-3 * size));
    await rejectsWith(send({ start: 0, truncateTo: 0, tokens, embed: 'pooled' }), 'BadArgument');
    await rejectsWith(load({ role: 'embedder', batch: 64, maxOutputs: 1, path: 'nowhere' }), 'LoadFailed');
    await stage.unload();
  },

  /** The process ends by itself although a stage is loaded and idle. */
  async idle() {
    await load();
  },

  async exitWhileComputing() {
    const stage = await load();
    stage.decode(step(2000)).catch(ignore);
    stage.decode(step(2000)).catch(ignore);
    await sleep(30);
    process.exit(0);
  },

  async exitWhileLoading() {
    load({}, () => process.exit(0)).catch(ignore);
    await sleep(60_000);
  },

  /** Stages that nobody holds any more are freed, with their threads, once they have computed what they were given. */
  async drop() {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const threads = () => (existsSync('/proc/self/task') ? readdirSync('/proc/self/task').length : 0);
    await (await load()).unload();
    const before = threads();
    for (let i = 0; i < 5; i++) {
      const { sampled } = await (await load()).decode(step(30));
      assert.equal(sampled.length, 1);
    }
    for (let tries = 0; threads() > before && tries < 500; tries++) {
      collect();
      await sleep(10);
    }
    assert.ok(threads() <= before);
  },

  async worker() {
    if (isMainThread) {
      for (let i = 0; i < 3; i++) {
        const worker = new Worker(new URL(import.meta.url), { workerData: argv });
        await new Promise((resolve, reject) => {
          worker.once('message', resolve);
          worker.once('error', reject);
        });
        await worker.terminate();
      }
      return;
    }
    const { parentPort } = await import('node:worker_threads');
    const stage = await load();
    stage.decode(step(2000)).catch(ignore);
    parentPort.postMessage('computing');
    await sleep(60_000);
  },

  /** Prints the id of a child that watches this process and blocks its own event loop, then lives until it is killed. */
  async parent() {
    const child = fork(fileURLToPath(import.meta.url), [...argv.slice(0, 3), 'orphan', String(process.pid)]);
    child.once('message', () => process.stdout.write(`${child.pid}\n`));
    await sleep(60_000);
  },

  async orphan() {
    addon.exitWithParent(Number(arg));
    process.send('watching');
    await sleep(100);
    for (;;);
  },

  /** Watches a process that is gone already; must not survive the call. */
  async lateOrphan() {
    addon.exitWithParent(Number(arg));
    await sleep(60_000);
  },
};

await scenarios[scenario]();
