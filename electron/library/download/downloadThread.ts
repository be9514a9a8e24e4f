import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { LibraryError } from '../libraryError.ts';
import type { DownloadOrder, DownloadReport } from './downloadContract.ts';

export interface DownloadRun {
  signal: AbortSignal;
  /** Bytes that have arrived, those of earlier runs included. */
  onProgress(bytes: number): void;
  /** Gives up when nothing has arrived for so long, ms. */
  stallMs: number;
}

/**
 * Downloads files into a folder, in several streams, going on where an earlier run ended. Answers their paths. Rejects with
 * LibraryError('NoSpace'), ('Refused') or ('DownloadFailed'), or with the signal's reason; what has arrived is kept.
 */
export async function downloadFiles(
  order: DownloadOrder,
  { signal, onProgress, stallMs }: DownloadRun,
): Promise<string[]> {
  signal.throwIfAborted();
  const worker = new Worker(workerEntry(), { workerData: order, execArgv: [], stdout: true, stderr: true });
  const listening = new AbortController();
  try {
    return await new Promise<string[]>((resolve, reject) => {
      const stalled = (): void => {
        reject(new LibraryError('DownloadFailed', `Nothing has arrived for ${Math.round(stallMs / 1000)} s.`));
      };
      let stall = setTimeout(stalled, stallMs);
      let most = -1;
      listening.signal.addEventListener('abort', () => clearTimeout(stall));
      signal.addEventListener('abort', () => reject(signal.reason), { signal: listening.signal });
      worker.on('message', (report: DownloadReport) => {
        if (report.type === 'done') resolve(report.paths);
        else if (report.type === 'failed') reject(failure(report));
        else if (report.bytes > most) {
          most = report.bytes;
          clearTimeout(stall);
          stall = setTimeout(stalled, stallMs);
          onProgress(report.bytes);
        }
      });
      worker.once('error', (error: Error & { code?: string }) => {
        reject(failure({ message: error.message, status: null, code: error.code ?? null }));
      });
      worker.once('exit', () => reject(new LibraryError('DownloadFailed', 'The download ended without a word.')));
    });
  } finally {
    listening.abort();
    await worker.terminate();
  }
}

function failure({ message, status, code }: Omit<Extract<DownloadReport, { type: 'failed' }>, 'type'>): LibraryError {
  if (code === 'ENOSPC' || /ENOSPC/.test(message)) {
    return new LibraryError('NoSpace', 'The disk is full. Free some space and ask again; what has arrived is kept.');
  }
  if (status !== null) return new LibraryError('Refused', `The server answered ${status} during the download.`);
  return new LibraryError('DownloadFailed', `The download broke off (${message.replaceAll(/\s+/g, ' ')}).`);
}

/** The compiled entry of the thread, also for a member that runs from the sources, as tests do. */
function workerEntry(): string {
  const here = import.meta.url;
  const folder = here.endsWith('.ts') ? '../../../dist/electron/library/download' : '.';
  return fileURLToPath(new URL(`${folder}/downloadWorker.js`, here));
}
