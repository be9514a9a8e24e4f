import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import { foundPool } from './foundPool.ts';
import type { Identity } from './identity.ts';
import { openTlsMaterial } from './poolCertificate.ts';
import { PoolError } from './poolError.ts';

/** What a member speaks with: its pool's certificate, or, on first use, that of a pool of its own. */
export async function openMemberTls(home: string, identity: Identity): Promise<TlsMaterial> {
  try {
    return await openTlsMaterial(home, identity);
  } catch (cause) {
    if (!(cause instanceof PoolError) || cause.kind !== 'NotInPool') throw cause;
  }
  await foundPool(home, [home]);
  return openTlsMaterial(home, identity);
}
