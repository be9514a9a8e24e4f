import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { TrustClient } from '../../wire/trustClient.ts';
import { CallRefused } from '../../wire/wireError.ts';
import { PoolError } from '../poolError.ts';

/** Another member that can be reached now. */
export interface ReachablePeer {
  id: string;
  /** `host:port` of its control plane. */
  address: string;
}

/** Calls `ask` with a client of the peer. Rejects with a WireError, or with what `ask` throws. */
export async function askPeer<T>(
  tls: TlsMaterial,
  { id, address }: ReachablePeer,
  ask: (client: TrustClient) => Promise<T>,
): Promise<T> {
  const client = new TrustClient({ address, member: id, tls });
  try {
    return await ask(client);
  } finally {
    client.close();
  }
}

/**
 * Asks one admin after the other until one answers. Throws what an admin refused with, or PoolError('Unreachable') when none
 * could be asked; `names` are those of all admins, for the message.
 */
export async function askAdmin<T>(
  tls: TlsMaterial,
  admins: readonly ReachablePeer[],
  names: readonly string[],
  ask: (client: TrustClient) => Promise<T>,
): Promise<T> {
  const causes: unknown[] = [];
  for (const admin of admins) {
    try {
      return await askPeer(tls, admin, ask);
    } catch (cause) {
      if (cause instanceof CallRefused) throw cause;
      causes.push(cause);
    }
  }
  throw new PoolError('Unreachable', `No admin of the pool can be reached. Its admins: ${names.join(', ')}.`, {
    cause: new AggregateError(causes),
  });
}
