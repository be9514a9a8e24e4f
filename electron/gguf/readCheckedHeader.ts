import { createHash } from 'node:crypto';
import { HeaderDamagedError, TruncatedError } from './ggufError.ts';
import type { SourceFile } from './openModel.ts';
import { openFileReader } from './rangeReader.ts';

/**
 * The bytes of a file's header as they lie on the disk now. Rejects with `HeaderDamagedError` where they are not those that
 * were read before, so that nothing is ever made of others.
 */
export async function readCheckedHeader({
  path,
  headerBytes,
  headerSha256,
}: Pick<SourceFile, 'path' | 'headerBytes' | 'headerSha256'>): Promise<Buffer> {
  const reader = await openFileReader(path);
  try {
    const bytes = Buffer.allocUnsafe(headerBytes);
    const found = await reader.read(0, bytes);
    if (found < headerBytes) throw new TruncatedError(path, headerBytes, found);
    if (createHash('sha256').update(bytes).digest('hex') !== headerSha256) throw new HeaderDamagedError(path);
    return bytes;
  } finally {
    await reader.close();
  }
}
