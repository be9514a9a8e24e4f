import { useEffect, useState } from 'react';
import { useMember } from '../member/memberStore.ts';

/** A member that starts again is there by then, ms. */
const LONG_MS = 8000;

/** Says what to do where the member has been away for longer than a restart takes; it lies over the page and moves nothing. */
export function LostMember() {
  const lost = useMember(({ connection }) => connection === 'lost');
  const [long, setLong] = useState(false);
  useEffect(() => {
    if (!lost) return;
    const timer = setTimeout(() => setLong(true), LONG_MS);
    return () => {
      clearTimeout(timer);
      setLong(false);
    };
  }, [lost]);
  if (!long) return null;
  return (
    <p className="notice lost-member" data-tone="problem" role="alert">
      Roomful does not run on this machine any more, so what you see is old. Start it again and this window goes on;
      where it does not, open another one with <code>roomful up --open</code>.
    </p>
  );
}
