import { type FileHandle, open, stat } from 'node:fs/promises';
import { NotGgufError } from './ggufError.ts';

/** Random access to the bytes of one file, wherever it lies. */
export interface RangeReader {
  /** Names the file in errors. */
  readonly path: string;
  /** Size of the whole file in bytes. */
  readonly size: number;
  /** Fills `target` from `offset` on as far as the file goes; resolves to the bytes read. */
  read(offset: number, target: Uint8Array): Promise<number>;
}

/** A file on disk, open until `close`. */
export interface FileReader extends RangeReader {
  /** Time of its last change, milliseconds since 1970. */
  readonly changedAt: number;
  close(): Promise<void>;
}

/** Opens a regular file for reading. Rejects with `NotGgufError` that says why it cannot be read. */
export async function openFileReader(path: string): Promise<FileReader> {
  let handle: FileHandle | undefined;
  try {
    // Asked before it is opened, because opening a pipe waits for its writer.
    const kind = await stat(path);
    if (kind.isDirectory()) throw new NotGgufError(path, 'is a folder; name the .gguf file inside it.');
    if (!kind.isFile()) throw new NotGgufError(path, 'is not a regular file.');
    handle = await open(path, 'r');
    const { size, mtimeMs } = await handle.stat();
    return fileReader(path, size, mtimeMs, handle);
  } catch (cause) {
    await handle?.close();
    throw cause instanceof NotGgufError ? cause : new NotGgufError(path, unreadable(cause), cause);
  }
}

function fileReader(path: string, size: number, changedAt: number, handle: FileHandle): FileReader {
  return {
    path,
    size,
    changedAt,
    async read(offset, target) {
      let done = 0;
      while (done < target.byteLength) {
        const { bytesRead } = await handle.read(target, done, target.byteLength - done, offset + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return done;
    },
    close: () => handle.close(),
  };
}

function unreadable(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'does not exist.';
    case 'EACCES':
    case 'EPERM':
      return 'may not be read: no permission.';
    case 'EISDIR':
      return 'is a folder; name the .gguf file inside it.';
    case 'ELOOP':
      return 'is a link that leads to itself.';
    default:
      return `could not be read (${cause instanceof Error ? cause.message : String(cause)}).`;
  }
}
