import { open } from 'node:fs/promises';
import { z } from 'zod';

/** The downloader's own (ipull, ChunkStatus). */
const COMPLETE = 2;
const NOT_STARTED = 0;

const progressSchema = z.looseObject({ chunks: z.array(z.int()), chunkSize: z.int().positive() });

/** Zeros in a row that may never have been written, and at an end of a part, where pieces are short. */
const LEAST_ZEROS = 64;
const LEAST_ZEROS_AT_ENDS = 4;

/**
 * Takes back the parts of an unfinished file of the downloader that it may have noted before they were written: it does not wait
 * for its writes, and ended in that moment it would go on with zeros in their place. Those that hold zeros are fetched again;
 * some do so for good, which costs a part and no more. Answers how many. Does nothing where there is no such file.
 */
export async function doubtParts(path: string, fileBytes: number): Promise<number> {
  const file = await open(`${path}.ipull`, 'r+').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return null;
    throw cause;
  });
  if (file === null) return 0;
  try {
    const note = Buffer.alloc(Math.max(0, (await file.stat()).size - fileBytes));
    await file.read(note, 0, note.length, fileBytes);
    const progress = parsed(note.toString('utf8'));
    // One that it cannot read it begins anew.
    if (progress === null) return 0;
    const { chunks, chunkSize } = progress;
    const part = Buffer.alloc(chunkSize);
    let doubted = 0;
    for (const [index, status] of chunks.entries()) {
      if (status !== COMPLETE) continue;
      const { bytesRead } = await file.read(
        part,
        0,
        Math.min(chunkSize, fileBytes - index * chunkSize),
        index * chunkSize,
      );
      if (!mayBeUnwritten(part.subarray(0, bytesRead))) continue;
      chunks[index] = NOT_STARTED;
      doubted += 1;
    }
    if (doubted === 0) return 0;
    const { bytesWritten } = await file.write(JSON.stringify(progress), fileBytes);
    await file.truncate(fileBytes + bytesWritten);
    return doubted;
  } finally {
    await file.close();
  }
}

/** Whether some of these bytes may be a hole. */
export function mayBeUnwritten(bytes: Uint8Array): boolean {
  let zeros = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    zeros = bytes[at] === 0 ? zeros + 1 : 0;
    if (zeros >= LEAST_ZEROS || (zeros === at + 1 && zeros >= LEAST_ZEROS_AT_ENDS)) return true;
  }
  return zeros >= Math.min(LEAST_ZEROS_AT_ENDS, bytes.length);
}

function parsed(text: string): z.infer<typeof progressSchema> | null {
  try {
    return progressSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
