export type HostErrorKind = 'HostCrashed' | 'HostTimedOut' | 'HostRefused' | 'HostClosed' | 'HostMisbehaved';

/** A host process that could not do what its parent asked; the message says why in one line. */
export class HostError extends Error {
  readonly kind: HostErrorKind;

  constructor(kind: HostErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'HostError';
    this.kind = kind;
  }
}

/** The host is gone and nobody had asked it to leave. */
export class HostCrashed extends HostError {
  /** 'stage' or 'engine'. */
  readonly host: string;
  readonly signal: string | null;
  readonly exitCode: number | null;
  /** What it, or llama.cpp in it, wrote to stderr about it; null when it was silent. */
  readonly line: string | null;

  constructor(host: string, exit: { signal: string | null; exitCode: number | null; line: string | null }) {
    const how = exit.signal ?? `exit code ${exit.exitCode}`;
    super('HostCrashed', `The ${host} process crashed (${how})${exit.line === null ? '.' : `: ${exit.line}`}`);
    this.host = host;
    this.signal = exit.signal;
    this.exitCode = exit.exitCode;
    this.line = exit.line;
  }
}

/** The host answered that it could not; `code` is the error's own, such as 'LoadFailed' of the addon. */
export class HostRefused extends HostError {
  readonly code: string;

  constructor(code: string, message: string) {
    super('HostRefused', message);
    this.code = code;
  }
}
