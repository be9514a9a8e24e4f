/** Where a file lies on this machine's disk, and whether it was copied there for it. */
export interface FileHere {
  path: string;
  isCopy: boolean;
}

/**
 * Brings one file onto this machine's disk. The app knows where it lies; a browser does not tell, so it is copied into the
 * folder of models. Rejects with one plain line.
 */
export async function pathOfFile(
  file: File,
  onCopied: (bytes: number) => void,
  signal: AbortSignal,
): Promise<FileHere> {
  const known = window.roomful?.pathOf(file);
  if (known === '') throw new Error(`${file.name} lies on no disk of this machine.`);
  return known === undefined
    ? { path: await upload(file, onCopied, signal), isCopy: true }
    : { path: known, isCopy: false };
}

/** With XMLHttpRequest, for fetch does not tell how far an upload is. */
function upload(file: File, onCopied: (bytes: number) => void, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', `/window/files/${encodeURIComponent(file.name)}`);
    request.setRequestHeader('content-type', 'application/octet-stream');
    request.responseType = 'json';
    request.upload.addEventListener('progress', ({ loaded }) => onCopied(loaded));
    request.addEventListener('load', () => {
      const answer: { path?: string; error?: { message?: string } } | null = request.response;
      if (request.status === 200 && answer?.path !== undefined) resolve(answer.path);
      else reject(new Error(answer?.error?.message ?? `The member answered with status ${request.status}.`));
    });
    request.addEventListener('error', () => reject(new Error('The connection to the member was lost; drop it again.')));
    request.addEventListener('abort', () => reject(new Error('Stopped.')));
    signal.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}
