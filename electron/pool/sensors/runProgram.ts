import { execFile } from 'node:child_process';

/** A tool of a driver that hangs is given up after this, ms. */
const TIMEOUT_MS = 5000;

/** Runs a tool of the system and answers what it printed; null where it is missing, fails or hangs. */
export type RunProgram = (file: string, args: readonly string[]) => Promise<string | null>;

export const runProgram: RunProgram = (file, args) =>
  new Promise((resolve) => {
    execFile(file, args, { timeout: TIMEOUT_MS, windowsHide: true }, (error, stdout) => {
      resolve(error === null ? stdout : null);
    });
  });
