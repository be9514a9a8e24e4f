/** Why a peer refused a call. */
export type RefusalReason =
  | 'Uncertified'
  | 'NotAdmitted'
  | 'WrongMember'
  | 'WrongPipeline'
  | 'WrongPosition'
  | 'StaleEpoch'
  | 'UnknownEpoch'
  | 'PlaceTaken'
  | 'NotHeld'
  | 'BadRequest'
  | 'Failed';

/** Base of everything that can go wrong between two processes; the message says what in one line. */
export class WireError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

const reasons: readonly (readonly [codes: RegExp, plain: string])[] = [
  [/ECONNREFUSED/, 'nobody listens there.'],
  [/ENOTFOUND|EAI_AGAIN|EAI_NONAME/, 'no machine of that name was found.'],
  [/EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN/, 'no network leads there.'],
  [/ETIMEDOUT|DEADLINE_EXCEEDED/, 'it did not answer in time.'],
  [/ECONNRESET|ECONNABORTED|EPIPE|socket hang up/, 'the connection broke.'],
];

/** For people; grpc-js hands the error of a connection on as text only, with notes on its inner workings behind it. */
function plainReason(why: string): string {
  const known = reasons.find(([codes]) => codes.test(why));
  return known?.[1] ?? why.replace(/\s*(Last error|Resolution note):.*$/s, '');
}

/** Nobody answered at the address, or the two could not agree on a certificate. */
export class PeerUnreachable extends WireError {
  readonly address: string;
  /** The machine at the address says that nobody listens there, instead of saying nothing. */
  readonly refused: boolean;

  constructor(address: string, why: string, options?: { cause?: unknown }) {
    super(`No member could be reached at ${address}: ${plainReason(why)}`, options);
    this.address = address;
    this.refused = why.includes('ECONNREFUSED');
  }
}

/** The process at the address belongs to another member than the one that was asked for. */
export class WrongPeer extends WireError {
  readonly expected: string;
  readonly found: string;

  constructor(address: string, expected: string, found: string, options?: { cause?: unknown }) {
    super(`At ${address} member ${expected} was expected but ${found} answered.`, options);
    this.expected = expected;
    this.found = found;
  }
}

/** The peer answered and said no. `kind` is the kind of the error on its side where it named one. */
export class CallRefused extends WireError {
  readonly reason: RefusalReason;
  readonly kind: string | null;

  constructor(reason: RefusalReason, message: string, options: { kind?: string | null; cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
    this.kind = options.kind ?? null;
  }
}

/** No answer in time. */
export class DeadlineExceeded extends WireError {
  readonly timeoutMs: number;

  constructor(what: string, timeoutMs: number, options?: { cause?: unknown }) {
    super(`${what} took longer than ${timeoutMs} ms.`, options);
    this.timeoutMs = timeoutMs;
  }
}

/** A link or call that was up broke without a goodbye: the peer died, hangs or was cut off. */
export class LinkLost extends WireError {}

/** The call was cancelled, or the link closed, by this side. */
export class CallCancelled extends WireError {}
