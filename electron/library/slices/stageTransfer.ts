import { open } from 'node:fs/promises';
import type { ModelHolder } from '../../pipeline/forming/modelFiles.ts';
import type { SendGate } from '../../wire/slicesService.ts';
import type { ExpectedHashes } from './expectedHashes.ts';
import type { FileHasher } from './fileHasher.ts';
import type { HolderPeers } from './holderPeers.ts';
import { headerOf, type KnownModel } from './modelHeaders.ts';
import { SliceError } from './sliceError.ts';
import { SliceFetch } from './sliceFetch.ts';
import type { StageUnit } from './stageLayout.ts';
import type { StageWriter } from './stageWriter.ts';

/** A tensor that lies in a file of this disk. */
export interface LocalTensor {
  path: string;
  at: number;
  /** What it was when it came here; null where that is not known. */
  sha256: string | null;
  /** Of the file, for messages. */
  what: string;
}

/** What making a stage's files has come to. Bytes are of tensors. */
export interface TransferProgress {
  phase: 'cutting' | 'fetching';
  doneBytes: number;
  totalBytes: number;
}

export interface StageTransferOptions {
  writer: StageWriter;
  known: KnownModel;
  /** Where a tensor lies on this disk, the best first. */
  localTensors(tensor: string): LocalTensor[];
  holders: readonly ModelHolder[];
  expected: ExpectedHashes;
  peers: HolderPeers;
  hasher: FileHasher;
  gate: SendGate;
  patienceMs: number;
  signal: AbortSignal;
  onProgress(progress: TransferProgress): void;
  onProblem(problem: SliceError): void;
}

const COPY_BYTES = 1 << 20;

/**
 * Fills the unfinished files of a stage: what is no tensor from the header, tensors from this disk where they lie here, the
 * others from holders. Each tensor is checked as it lies in the new file. Rejects with a SliceError or the signal's
 * reason; what has been written then stays for another try.
 */
export async function transferStage(options: StageTransferOptions): Promise<void> {
  const { writer, known, signal, onProgress } = options;
  const { layout } = writer;
  await writeFixed(writer, known);
  const totalBytes = layout.units.reduce((sum, { bytes }) => sum + bytes, 0);
  const report = (phase: TransferProgress['phase']): void =>
    onProgress({ phase, doneBytes: writer.writtenBytes, totalBytes });
  let checking: Promise<void> = Promise.resolve();
  for (const unit of layout.units) {
    if (writer.verifiedAs(unit) !== undefined) continue;
    const copied = await copyHere(options, unit, () => report('cutting'));
    if (copied === null) continue;
    // The next one is copied while this one is checked.
    await checking;
    checking = check(options, unit, copied);
    checking.catch(() => {});
  }
  await checking;
  const missing = layout.units.filter((unit) => writer.verifiedAs(unit) === undefined);
  if (missing.length === 0) return;
  report('fetching');
  const { peers, hasher, gate, patienceMs, holders, expected, onProblem } = options;
  const fetching = new SliceFetch({
    ...{ model: layout.model, writer, units: missing, expected, holders, peers, hasher, gate, patienceMs, signal },
    onBytes: () => report('fetching'),
    onProblem,
  });
  await fetching.run();
}

async function writeFixed(writer: StageWriter, known: KnownModel): Promise<void> {
  const headers = new Map<number, Buffer>();
  await writer.writeFixed(async (index, offset, target) => {
    const header = headers.get(index) ?? (await headerOf(known, index));
    headers.set(index, header);
    if (offset + target.byteLength > header.byteLength) {
      throw new SliceError('WrongModel', 'The header of the model is shorter than it was.');
    }
    target.set(header.subarray(offset, offset + target.byteLength));
  });
}

/** Copies what is missing of a tensor from where it lies on this disk; null where it lies nowhere. */
async function copyHere(
  { writer, localTensors, expected, signal }: StageTransferOptions,
  unit: StageUnit,
  onBytes: () => void,
): Promise<LocalTensor | null> {
  for (const local of localTensors(unit.tensor)) {
    const file = await open(local.path, 'r').catch(() => null);
    if (file === null) continue;
    try {
      // With nothing to hold it against, all of it must come from here.
      if (local.sha256 === null && expected.get(unit.tensor) === undefined) writer.damaged(unit);
      const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, unit.bytes));
      for (const { from, to } of writer.missing(unit)) {
        for (let at = from; at < to; ) {
          signal.throwIfAborted();
          const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.byteLength, to - at), local.at + at);
          if (bytesRead === 0) break;
          await writer.write(unit, at, buffer.subarray(0, bytesRead));
          at += bytesRead;
          onBytes();
        }
      }
      if (writer.missing(unit).length === 0) return local;
    } finally {
      await file.close();
    }
  }
  return null;
}

/** Holds a copied tensor against what it should be; one that is not is left to the holders. */
async function check(
  { writer, hasher, expected, signal, onProblem }: StageTransferOptions,
  unit: StageUnit,
  { sha256, what }: LocalTensor,
): Promise<void> {
  const found = await hasher.hash(writer.partialPath(unit.file), { at: unit.at, bytes: unit.bytes }, { signal });
  const wanted = sha256 ?? expected.get(unit.tensor);
  if (wanted === undefined || found === wanted) {
    writer.verified(unit, found);
    return;
  }
  expected.claim(unit.tensor, { member: 'this member', sha256: wanted, recorded: true });
  onProblem(new SliceError('TensorDamaged', `${unit.tensor} is damaged in ${what} on this disk; it is fetched again.`));
  writer.damaged(unit);
}
