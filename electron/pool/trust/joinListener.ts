import type { TLSSocket } from 'node:tls';
import { z } from 'zod';
import { type JoinGrant, JoinReply, JoinRequest } from '../../wire/generated/roomful/v1/join.ts';
import { SecureListener } from '../../wire/secureListener.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { PoolError } from '../poolError.ts';
import { readFrame, writeFrame } from './joinFrames.ts';
import { channelBinding, isJoinProof, joinProof } from './joinProof.ts';
import { nameSchema } from './names.ts';
import { RateLimit } from './rateLimit.ts';

/** Names the protocol to both ends (ALPN). */
export const JOIN_PROTOCOL = 'roomful-join/1';

const MAX_REQUEST_BYTES = 16 * 1024;
/** From the handshake to the answer, ms. */
const EXCHANGE_MS = 15_000;
/** Ten tries that fail at once from one address, then one in six seconds. */
const FAILURES = { burst: 10, intervalMs: 6000, mostSources: 4096 };

const requestSchema = z.object({
  inviteId: z.instanceof(Uint8Array),
  proof: z.instanceof(Uint8Array),
  certificateRequest: z.instanceof(Uint8Array),
  name: nameSchema,
  addresses: z.array(z.string().min(3).max(300)).max(32),
});

/** Somebody who wants to join. */
export interface Applicant {
  /** Hexadecimal. */
  inviteId: string;
  /** Whether the proof fits the key of the invite, on the connection that it came by. */
  proves: (proofKey: Buffer) => boolean;
  certificateRequest: Uint8Array;
  name: string;
  /** `host:port`. */
  addresses: string[];
}

export interface JoinListenerOptions {
  tls: TlsMaterial;
  /** Literal address. */
  host: string;
  port: number;
  /** Lets an applicant in, or throws PoolError, whose kind and line the applicant is told. */
  admit: (applicant: Applicant) => Promise<JoinGrant>;
  now: () => number;
  /** Hears of what went wrong on this side. */
  onError: (cause: unknown) => void;
}

/** The door for machines that are no members yet, apart from the doors of members: one request and one answer each. */
export class JoinListener {
  readonly port: number;
  readonly #listener: SecureListener;

  private constructor(listener: SecureListener) {
    this.#listener = listener;
    this.port = listener.port;
  }

  /** Throws ListenFailed. */
  static async start(options: JoinListenerOptions): Promise<JoinListener> {
    const failures = new RateLimit(FAILURES);
    const listener = await SecureListener.start({
      material: materialOf(options.tls),
      host: options.host,
      port: options.port,
      protocols: [JOIN_PROTOCOL],
      anonymous: true,
      onConnection: (socket) => {
        const timer = setTimeout(() => socket.destroy(), EXCHANGE_MS).unref();
        socket.once('close', () => clearTimeout(timer));
        exchange(socket, options, failures).catch(() => socket.destroy());
      },
    });
    return new JoinListener(listener);
  }

  setTls(tls: TlsMaterial): void {
    this.#listener.setMaterial(materialOf(tls));
  }

  close(): void {
    this.#listener.close();
  }
}

/** The CA goes along, because who joins knows nothing of it but its fingerprint. */
function materialOf({ cert, ca, key }: TlsMaterial): { cert: string; key: string } {
  return { cert: `${cert.trimEnd()}\n${ca}`, key };
}

async function exchange(socket: TLSSocket, options: JoinListenerOptions, failures: RateLimit): Promise<void> {
  const source = socket.remoteAddress ?? '';
  const bytes = await readFrame(socket, MAX_REQUEST_BYTES);
  const answer = (reply: JoinReply): void => {
    writeFrame(socket, JoinReply.encode(reply).finish());
    socket.end();
  };
  try {
    if (!failures.allows(source, options.now())) {
      throw new PoolError('RateLimited', 'Too many tries from this address. Wait a minute, then try again.');
    }
    const grant = await options.admit(readApplicant(bytes, channelBinding(socket)));
    answer({ grant, refusal: undefined });
  } catch (cause) {
    failures.fail(source, options.now());
    if (!(cause instanceof PoolError)) options.onError(cause);
    const refusal =
      cause instanceof PoolError
        ? { kind: cause.kind, message: cause.message }
        : { kind: 'Refused', message: 'The inviting member could not answer. Look into its log.' };
    answer({ grant: undefined, refusal });
  }
}

function readApplicant(bytes: Uint8Array, binding: Uint8Array): Applicant {
  try {
    const { inviteId, proof, ...request } = requestSchema.parse(JoinRequest.decode(bytes));
    return {
      ...request,
      inviteId: Buffer.from(inviteId).toString('hex'),
      proves: (proofKey) => isJoinProof(proof, joinProof(proofKey, binding, request.certificateRequest)),
    };
  } catch (cause) {
    throw new PoolError('Refused', 'The request to join cannot be read. Are both sides of the same version?', {
      cause,
    });
  }
}
