import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import { makeDataFolder } from '../pool/makeDataFolder.ts';
import type { HostLauncher } from '../stage/hostLauncher.ts';
import { notingLauncher, reapLeftovers } from '../stage/hostLeftovers.ts';
import { HostPids } from '../stage/hostPids.ts';
import { LLAMA_CPP_COMMIT } from '../stage/llamaBuild.ts';
import { Changes } from './changes.ts';
import { Closers } from './closers.ts';
import type { MemberOptions } from './memberOptions.ts';

/** What every part of a member stands on. */
export interface Ground {
  readonly options: MemberOptions;
  readonly home: string;
  readonly log: Logger;
  readonly logFile: string;
  /** Commit of llama.cpp. */
  readonly build: string;
  /** Notes what it starts, so that the next run can end what this one leaves. */
  readonly launcher: HostLauncher;
  /** The processes that it has started and that live. */
  readonly hostPids: ReadonlySet<number>;
  /** Each part adds how it is ended. */
  readonly closers: Closers;
  /** Of the pool, of this member, or of what serves. */
  readonly changes: Changes;
  /** Logs what went wrong in the background. */
  warn(what: string): (cause: unknown) => void;
}

/** Makes the data folder ready and clears away what a run that was killed has left in it. */
export async function startGround(options: MemberOptions): Promise<Ground> {
  const { home } = options;
  const hosts = new HostPids();
  makeDataFolder(home);
  const logFile = join(home, 'roomful.log');
  const log = pino({ level: 'info' }, pino.destination({ dest: logFile, sync: false, mode: 0o600 }));
  await reapLeftovers(home);
  // The models of that run are not served any more; their stage files are kept elsewhere.
  await rm(join(home, 'serving'), { recursive: true, force: true });
  return {
    options,
    home,
    log,
    logFile,
    build: options.build ?? LLAMA_CPP_COMMIT,
    launcher: hosts.watch(notingLauncher(options.launcher, home)),
    hostPids: hosts.pids,
    closers: new Closers(),
    changes: new Changes(),
    warn: (what) => (cause) => log.warn({ err: cause }, what),
  };
}
