import { parentPort, workerData } from 'node:worker_threads';
import { combineModelDownloaders, createModelDownloader } from 'node-llama-cpp';
import type { DownloadOrder, DownloadReport } from './downloadContract.ts';

/**
 * The entry of the thread that downloads with node-llama-cpp, whose import loads no native code. It has a thread of its own
 * because a disk that fills up leaves a rejection there that nobody takes, which would end the member. It is ended from
 * outside only: told to cancel, the downloader would cut off what it needs to go on later.
 */
async function download({ folder, files, token, hub }: DownloadOrder): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('Downloads run in a worker thread only.');
  const report = (what: DownloadReport): void => port.postMessage(what);
  const downloaders = await Promise.all(
    files.map(({ url, name }) =>
      createModelDownloader({
        modelUri: oneFile(url),
        dirPath: folder,
        fileName: name,
        deleteTempFileOnCancel: false,
        skipExisting: true,
        // Empty rather than left out, or it would look for tokens of other programs.
        tokens: { huggingFace: token ?? '' },
        endpoints: { huggingFace: hub },
      }),
    ),
  );
  const combined = await combineModelDownloaders(downloaders, {
    parallelDownloads: 2,
    onProgress: ({ downloadedSize, totalSize }) =>
      report({ type: 'progress', bytes: downloadedSize, totalBytes: totalSize }),
  });
  const paths = await combined.download();
  report({ type: 'done', paths });
}

/** Spelt so that it is not taken for the first file of a set: each file is asked for by itself. */
function oneFile(url: string): string {
  const spelt = new URL(url);
  spelt.pathname = spelt.pathname.replace(/\.gguf$/, '.%67guf');
  return spelt.href;
}

download(workerData).catch((error: Error & { statusCode?: number; code?: string }) => {
  const { message, statusCode, code } = error;
  const report: DownloadReport = { type: 'failed', message, status: statusCode ?? null, code: code ?? null };
  parentPort?.postMessage(report);
});
