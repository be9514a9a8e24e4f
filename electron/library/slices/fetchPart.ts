import type { ModelHolder } from '../../pipeline/forming/modelFiles.ts';
import { HashWanted } from '../../wire/generated/roomful/v1/slices.ts';
import { SliceStream } from '../../wire/sliceStream.ts';
import { SlicesClient } from '../../wire/slicesClient.ts';
import type { SendGate } from '../../wire/slicesService.ts';
import type { HolderPeers } from './holderPeers.ts';
import { SliceError } from './sliceError.ts';
import type { StageUnit } from './stageLayout.ts';
import type { StageWriter } from './stageWriter.ts';

export interface FetchPartOptions {
  model: string;
  writer: StageWriter;
  peers: HolderPeers;
  gate: SendGate;
  /** Members that are no holders of the model, asked one after the other. */
  others: readonly ModelHolder[];
  /** What the tensor should be; without it nobody is asked, for nothing would be known of what comes. */
  sha256: string | undefined;
  signal: AbortSignal;
}

/**
 * Writes a tensor whole from the first member that has received it for a stage and says that it is what it should be. Whether
 * there was one; the caller checks what lies there. Rejects with the signal's reason, or where it cannot be written.
 */
export async function fetchPart(unit: StageUnit, options: FetchPartOptions): Promise<boolean> {
  const { others, sha256, signal } = options;
  for (const other of sha256 === undefined ? [] : others) {
    try {
      if ((await recordedHash(unit, other, options)) !== sha256) continue;
      await fetchFrom(unit, other, options);
      return true;
    } catch (cause) {
      signal.throwIfAborted();
      // A member that does not give it is as good as one that has nothing.
      if (cause instanceof SliceError) throw cause;
    }
  }
  return false;
}

async function recordedHash(
  { tensor }: StageUnit,
  other: ModelHolder,
  { model, peers, signal }: FetchPartOptions,
): Promise<string | null> {
  const client = new SlicesClient(await peers.peer(other));
  try {
    for await (const { sha256 } of client.hash(model, [tensor], HashWanted.HASH_WANTED_RECORDED, signal)) {
      return Buffer.from(sha256).toString('hex');
    }
    return null;
  } finally {
    client.close();
  }
}

async function fetchFrom(
  unit: StageUnit,
  other: ModelHolder,
  { model, writer, peers, gate, signal }: FetchPartOptions,
): Promise<void> {
  writer.damaged(unit);
  const stream = await SliceStream.open(await peers.peer(other), signal);
  try {
    let at = 0;
    const range = { tensor: unit.tensor, header: undefined, offset: 0, bytes: unit.bytes };
    for await (const block of stream.read(model, [range], signal)) {
      (await gate.begin(block.byteLength, signal))();
      await writer.write(unit, at, block.subarray(0, unit.bytes - at));
      at += block.byteLength;
    }
  } finally {
    stream.close();
  }
}
