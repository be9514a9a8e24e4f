import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import { z } from 'zod';
import {
  CallCancelled,
  CallRefused,
  DeadlineExceeded,
  LinkLost,
  PeerUnreachable,
  type RefusalReason,
  type WireError,
} from './wireError.ts';

const STATUS_OF: Record<RefusalReason, status> = {
  Uncertified: status.UNAUTHENTICATED,
  NotAdmitted: status.PERMISSION_DENIED,
  WrongMember: status.PERMISSION_DENIED,
  WrongPipeline: status.NOT_FOUND,
  WrongPosition: status.NOT_FOUND,
  StaleEpoch: status.FAILED_PRECONDITION,
  UnknownEpoch: status.FAILED_PRECONDITION,
  PlaceTaken: status.ALREADY_EXISTS,
  NotHeld: status.NOT_FOUND,
  BadRequest: status.INVALID_ARGUMENT,
  Failed: status.ABORTED,
};

const REASON_KEY = 'roomful-refusal';
const KIND_KEY = 'roomful-kind';
const named = z.object({ kind: z.string().regex(/^[\x21-\x7e]{1,100}$/) });

/** A gRPC status that tells a caller no. */
export type Refusal = Error & StatusObject;

/** Tells a caller no, and why. */
export function refusal(reason: RefusalReason, message: string, kind: string | null = null): Refusal {
  const metadata = new Metadata();
  metadata.set(REASON_KEY, reason);
  if (kind !== null) metadata.set(KIND_KEY, kind);
  return Object.assign(new Error(message), { code: STATUS_OF[reason], details: message, metadata });
}

/** The status for whatever a handler threw: its refusal where it is one, else `Failed` with the error's own kind. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof CallRefused) return refusal(error.reason, error.message, error.kind);
  const parsed = named.safeParse(error);
  const message = error instanceof Error ? error.message : String(error);
  return refusal('Failed', message, parsed.success ? parsed.data.kind : null);
}

/** What the caller makes of a failed call. `up` tells whether the call had been accepted before it failed. */
export function wireErrorOf(
  error: ServiceError,
  call: { what: string; address: string; up: boolean; timeoutMs: number },
): WireError {
  const reason = text(error.metadata, REASON_KEY);
  if (reason !== null && isRefusalReason(reason)) {
    return new CallRefused(reason, error.details, { kind: text(error.metadata, KIND_KEY), cause: error });
  }
  if (error.code === status.CANCELLED) return new CallCancelled(`${call.what} was cancelled.`, { cause: error });
  if (error.code === status.DEADLINE_EXCEEDED) {
    return new DeadlineExceeded(call.what, call.timeoutMs, { cause: error });
  }
  if (call.up)
    return new LinkLost(`${call.what}: the connection to ${call.address} broke (${error.details}).`, { cause: error });
  if (error.code === status.UNAVAILABLE) return new PeerUnreachable(call.address, error.details, { cause: error });
  return new LinkLost(`${call.what} at ${call.address} failed: ${error.details}`, { cause: error });
}

/** Whether a text that came over the wire is one of the reasons. */
export function isRefusalReason(value: string): value is RefusalReason {
  return Object.hasOwn(STATUS_OF, value);
}

function text(metadata: Metadata | undefined, key: string): string | null {
  const [value] = metadata?.get(key) ?? [];
  return typeof value === 'string' ? value : null;
}
