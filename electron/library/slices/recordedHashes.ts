import type { ModelHolder } from '../../pipeline/forming/modelFiles.ts';
import { HashWanted } from '../../wire/generated/roomful/v1/slices.ts';
import { MAX_SLICE_RANGES } from '../../wire/sliceRequests.ts';
import { SlicesClient } from '../../wire/slicesClient.ts';
import type { HolderPeers } from './holderPeers.ts';

/** What the first holder that answers has recorded of tensors, by name: SHA-256 in hex. Empty where none answers. */
export async function recordedHashes(
  model: string,
  tensors: readonly string[],
  { holders, peers, signal }: { holders: readonly ModelHolder[]; peers: HolderPeers; signal: AbortSignal },
): Promise<Map<string, string>> {
  for (const holder of holders) {
    const client = new SlicesClient(await peers.peer(holder));
    const found = new Map<string, string>();
    try {
      for (let at = 0; at < tensors.length; at += MAX_SLICE_RANGES) {
        const part = tensors.slice(at, at + MAX_SLICE_RANGES);
        for await (const hash of client.hash(model, part, HashWanted.HASH_WANTED_RECORDED, signal)) {
          if (hash.recorded) found.set(hash.tensor, Buffer.from(hash.sha256).toString('hex'));
        }
      }
      return found;
    } catch {
      signal.throwIfAborted();
    } finally {
      client.close();
    }
  }
  return new Map();
}
