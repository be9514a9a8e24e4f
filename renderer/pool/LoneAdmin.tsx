import type { PoolMemberDetail } from '../../electron/gateway/memberApi.ts';
import { hrefOf } from '../shell/route.ts';
import { secondAdmin } from './memberFacts.ts';

/** Asks the only admin of a pool for a second one; nothing where there is no need, or nobody to promote. */
export function LoneAdmin({
  members,
  onPromote,
}: {
  members: readonly PoolMemberDetail[];
  onPromote: (member: PoolMemberDetail) => void;
}) {
  const next = secondAdmin(members);
  if (next === null) return null;
  return (
    <section className="notice lone-admin" aria-label="A second admin">
      <p>
        This machine is the pool's only admin. Should it be lost, nobody could invite or remove members: make another
        one, or <a href={hrefOf('settings')}>export the pool's key</a> and keep it elsewhere.
      </p>
      <button type="button" className="quiet-button" onClick={() => onPromote(next)}>
        Make {next.name} an admin
      </button>
    </section>
  );
}
