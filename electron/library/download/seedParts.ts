import { open } from 'node:fs/promises';

/** Three streams each lose what they have of a part when they are ended. */
const STREAMS = 3;
/** Of a file at most, so that what a break loses is a small share of it whatever its size. */
const MOST_PARTS = 2048;
const LEAST_BYTES = 128 << 10;
/** The downloader's own. */
const MOST_BYTES = 5 << 20;

/** Parts of equal length, but for some bytes of the last one: as the downloader counts parts, not bytes. */
export function partBytes(fileBytes: number): number {
  const target = Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.ceil(fileBytes / MOST_PARTS)));
  return Math.ceil(fileBytes / Math.ceil(fileBytes / target));
}

/**
 * Begins the unfinished file of the downloader (ipull, under node-llama-cpp) with smaller parts than it would choose, which it
 * offers no option for: as long as the file, and behind that, as JSON, of which nothing has arrived. One that it cannot read
 * it begins anew. Does nothing where there is one.
 */
export async function seedParts(path: string, fileBytes: number): Promise<void> {
  if (fileBytes === 0) return;
  const file = await open(`${path}.ipull`, 'wx', 0o600).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EEXIST') return null;
    throw cause;
  });
  if (file === null) return;
  try {
    const chunkSize = partBytes(fileBytes);
    const chunks = new Array<number>(Math.ceil(fileBytes / chunkSize)).fill(0);
    await file.truncate(fileBytes);
    await file.write(JSON.stringify({ part: 0, chunks, chunkSize, parallelStreams: STREAMS }), fileBytes);
  } finally {
    await file.close();
  }
}
