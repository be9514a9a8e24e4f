import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelFingerprint } from '../../electron/gguf/modelFingerprint.ts';
import { type ModelSource, openModel } from '../../electron/gguf/openModel.ts';
import { hashModel } from '../../electron/library/modelHashes.ts';
import { foundPool } from '../../electron/pool/foundPool.ts';
import { openIdentity } from '../../electron/pool/identity.ts';
import { openTlsMaterial } from '../../electron/pool/poolCertificate.ts';
import type { TlsMaterial } from '../../electron/wire/tlsMaterial.ts';
import { generateModel } from '../models/generateModel.ts';
import { HolderProcess, type Received, ReceiverProcess } from '../slices/sliceProcesses.ts';
import type { BenchReport } from './report.ts';

const ROUNDS = 5;

/**
 * How fast a slice travels from a holder to a receiver, each a process of its own that goes on from round to round, on
 * loopback: checked tensor by tensor and written to a file. Beside it, in turns and between the same two, as many bytes from
 * memory through a TLS socket to nowhere.
 */
export async function transfer(): Promise<BenchReport> {
  const home = await mkdtemp(join(tmpdir(), 'roomful-bench-'));
  const holders: HolderProcess[] = [];
  const receiver = new ReceiverProcess();
  try {
    const homes = { near: join(home, 'near'), far: join(home, 'far') };
    await foundPool(home, Object.values(homes));
    const [near, far] = await Promise.all([speaker(homes.near), speaker(homes.far)]);
    const path = join(home, 'model.gguf');
    const shape = { layers: 16, width: 1024, heads: 8, kvHeads: 8, feedForward: 3072, vocabulary: 4000, tied: true };
    const types = { embedding: 'Q8_0', attention: 'Q8_0', feedForward: 'Q8_0' } as const;
    await generateModel(path, { architecture: 'llama', ...shape, seed: 1, types });
    const model = await openModel(path);
    const { tensors } = await hashModel(model, { signal: new AbortController().signal });
    const bytes = bytesOf(model);
    const start = (hashes: [string, string][]) => HolderProcess.start({ tls: far.tls, path, hashes, bareBytes: bytes });
    const recorded = await start([...tensors]);
    holders.push(recorded);
    const measured: Record<'bare' | 'slice' | 'unrecorded', Measured[]> = { bare: [], slice: [], unrecorded: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      measured.bare.push(await measure(recorded, () => receiver.bare({ tls: near.tls, port: recorded.bare, bytes })));
      const fetch = (holder: HolderProcess) => async (): Promise<Received> => {
        const folder = join(home, 'slices');
        const order = { tls: near.tls, folder, model: modelFingerprint(model), startLayer: 0, endLayer: STAGE_LAYERS };
        const got = await receiver.fetch({ ...order, holders: [{ member: far.id, addresses: [holder.address] }] });
        await rm(folder, { recursive: true });
        return got;
      };
      measured.slice.push(await measure(recorded, fetch(recorded)));
      // What it has computed it keeps, so it is a new one each time.
      const fresh = await start([]);
      holders.push(fresh);
      measured.unrecorded.push(await measure(fresh, fetch(fresh)));
      fresh.process.kill();
      process.stderr.write(`round ${round + 1} of ${ROUNDS} done\n`);
    }
    const speed = (ms: number): number => bytes / 1e6 / (ms / 1000);
    const bareSpeed = speed(median(measured.bare.map(({ ms }) => ms)));
    const row = (what: string, all: Measured[]): BenchReport['rows'][number] => {
      const mbPerSecond = speed(median(all.map(({ ms }) => ms)));
      return {
        what,
        mbPerSecond: Math.round(mbPerSecond),
        ofBare: (mbPerSecond / bareSpeed).toFixed(2),
        flushed: Math.round(speed(median(all.map(({ flushedMs }) => flushedMs)))),
        holderMb: Math.round(Math.max(...all.map(({ holderRss }) => holderRss)) / 1e6),
        receiverMb: Math.round(Math.max(...all.map(({ rss }) => rss)) / 1e6),
        cpuMsPerMb: (median(all.map(({ cpuMs, holderCpuMs }) => cpuMs + holderCpuMs)) / (bytes / 1e6)).toFixed(2),
        p99DelayMs: median(all.map(({ p99Ms }) => p99Ms)).toFixed(1),
      };
    };
    return {
      title: `transfer: ${Math.round(bytes / 1e6)} MB from a holder to a receiver on loopback, mutual TLS 1.3, medians of ${ROUNDS}`,
      columns: ['what', 'mbPerSecond', 'ofBare', 'flushed', 'holderMb', 'receiverMb', 'cpuMsPerMb', 'p99DelayMs'],
      rows: [
        row('TLS socket, memory to nowhere', measured.bare),
        row('slice, disk to checked file', measured.slice),
        row('slice, hashes not recorded', measured.unrecorded),
      ],
    };
  } finally {
    for (const { process } of [receiver, ...holders]) process.kill();
    await rm(home, { recursive: true, force: true });
  }
}

/** All but the last one, which is not cut like the others. */
const STAGE_LAYERS = 15;

interface Measured {
  /** Until the last byte had come and was written. */
  ms: number;
  /** Until it was checked and on the disk. */
  flushedMs: number;
  rss: number;
  /** Of the processor, at either end. */
  cpuMs: number;
  holderCpuMs: number;
  holderRss: number;
  p99Ms: number;
}

async function measure(holder: HolderProcess, run: () => Promise<Received>): Promise<Measured> {
  await holder.reset();
  const { fetchedMs, ms, rss, cpuMs } = await run();
  const held = await holder.report();
  return { ms: fetchedMs, flushedMs: ms, rss, cpuMs, p99Ms: held.p99Ms, holderRss: held.rss, holderCpuMs: held.cpuMs };
}

function bytesOf(model: ModelSource): number {
  let bytes = 0;
  for (const { name, byteLength } of model.tensors.values()) {
    if (!name.startsWith(`blk.${STAGE_LAYERS}.`) && name !== 'output_norm.weight') bytes += byteLength;
  }
  return bytes;
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function speaker(home: string): Promise<{ id: string; tls: TlsMaterial }> {
  const identity = await openIdentity(home);
  return { id: identity.id, tls: await openTlsMaterial(home, identity) };
}
