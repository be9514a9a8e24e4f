import type { FileHasher } from './fileHasher.ts';

/** A tensor in a file of this disk, and what it should be. */
export interface TensorPlace {
  tensor: string;
  path: string;
  at: number;
  bytes: number;
  sha256: string;
}

export interface CheckOptions {
  signal: AbortSignal;
  /** Bytes that have been read, of all. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Reads tensors and answers those that are not what they should be, or cannot be read; as many at once as the hasher has threads. */
export async function damagedTensors(
  hasher: FileHasher,
  places: readonly TensorPlace[],
  { signal, onProgress }: CheckOptions,
): Promise<TensorPlace[]> {
  const total = places.reduce((sum, { bytes }) => sum + bytes, 0);
  const damaged: TensorPlace[] = [];
  const left = places.values();
  let done = 0;
  const work = async (): Promise<void> => {
    for (const place of left) {
      const { path, at, bytes, sha256 } = place;
      const onBytes = (read: number): void => {
        done += read;
        onProgress?.(done, total);
      };
      const found = await hasher.hash(path, { at, bytes }, { signal, onBytes }).catch((cause: unknown) => {
        signal.throwIfAborted();
        return `unreadable: ${String(cause)}`;
      });
      if (found !== sha256) damaged.push(place);
    }
  };
  await Promise.all(Array.from({ length: hasher.threads }, work));
  return places.filter((place) => damaged.includes(place));
}
