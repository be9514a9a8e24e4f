import type { ChildProcessWithoutNullStreams } from 'node:child_process';

export interface WatchedOutput {
  stdout(): string;
  stderr(): string;
  /** Resolves with the first match in what it has said and will say. Rejects when the process ends before. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** The exit code once all output is read, null after a signal. */
  exit: Promise<number | null>;
}

/** Collects what a process prints; `name` is for messages. */
export function watchOutput(child: ChildProcessWithoutNullStreams, name: string): WatchedOutput {
  let out = '';
  let err = '';
  const watchers = new Set<() => void>();
  const told = (): void => {
    for (const watcher of watchers) watcher();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    told();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
    told();
  });
  const exit = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code));
    child.once('error', (error) => {
      err += error.message;
    });
  });
  return {
    stdout: () => out,
    stderr: () => err,
    exit,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')).exec(out + err);
          if (match === null) return;
          watchers.delete(look);
          resolve(match);
        };
        watchers.add(look);
        void exit.then((code) => {
          watchers.delete(look);
          reject(new Error(`${name} ended with ${code} before it said ${pattern}:\n${out}${err}`));
        });
        look();
      }),
  };
}
