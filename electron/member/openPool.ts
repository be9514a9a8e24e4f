import { EpochFences } from '../pool/epochFences.ts';
import { OwnTerm } from '../pool/ownTerm.ts';
import { PoolMember } from '../pool/poolMember.ts';
import { WIRE_VERSION } from '../wire/wireVersion.ts';
import type { Ground } from './startGround.ts';
import type { Machine } from './startMachine.ts';

/** This machine as a member, and whose orders count. */
export interface Pool {
  readonly pool: PoolMember;
  readonly term: OwnTerm;
}

/** Reads who this machine is and which pool it is in; it takes part there once `pool.begin` is called. */
export async function openPool(ground: Ground, { profile, memoryBytes }: Machine): Promise<Pool> {
  const { options, home, build, changes, closers } = ground;
  const pool = await PoolMember.open({
    home,
    name: options.name,
    lan: options.lan ?? null,
    card: { build, wireVersion: WIRE_VERSION, shareBytes: memoryBytes, pinned: false, abstains: false },
    profile,
    onChange: () => changes.tell(),
    onProblem: ground.warn('something is wrong with the pool'),
  });
  // Should the control plane not start; otherwise it is closed before that.
  closers.add(() => pool.close());
  const fences = new EpochFences(home, pool.trust);
  changes.on(() => {
    const epoch = pool.epoch();
    // What cannot be kept now is tried again at the next order.
    if (epoch !== null) fences.raise(epoch).catch(ground.warn('an epoch was not kept'));
  });
  return { pool, term: new OwnTerm(home, { pool, fences, onChange: (listener) => changes.on(listener) }) };
}
