import { useEffect, useReducer } from 'react';
import type { PoolState } from '../../electron/gateway/memberApi.ts';
import { callMember } from '../member/memberStore.ts';

interface OpenInvitesProps {
  invites: PoolState['invites'];
  perform: (work: Promise<unknown>) => void;
}

/** Machines that may still join: the invites of this machine that nobody has used. */
export function OpenInvites({ invites, perform }: OpenInvitesProps) {
  const now = useNow();
  const open = invites.filter(({ expiresAtMs }) => expiresAtMs > now);
  if (open.length === 0) return null;
  return (
    <section className="card open-invites" aria-label="Pending joins">
      <h2>{open.length === 1 ? 'One machine may still join' : `${open.length} machines may still join`}</h2>
      <ul>
        {open.map(({ id, expiresAtMs }) => (
          <li key={id} className="row">
            <span className="quiet number">
              The invite works until {new Date(expiresAtMs).toLocaleTimeString([], { timeStyle: 'short' })}, for{' '}
              {minutesLeft(expiresAtMs - now)}.
            </span>
            <button
              type="button"
              className="quiet-button"
              onClick={() => perform(callMember('withdrawInvite', { invite: id }))}
            >
              Withdraw
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const MINUTE_MS = 60_000;
const TICK_MS = 5_000;

function minutesLeft(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE_MS);
  return minutes === 1 ? 'less than a minute' : `${minutes} more minutes`;
}

/** Milliseconds since 1970; what shows it is drawn anew every few seconds. */
function useNow(): number {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return Date.now();
}
