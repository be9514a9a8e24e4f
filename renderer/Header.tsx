import type { Connection } from './member/memberClient.ts';
import { useMember } from './member/memberStore.ts';

const words: Record<Connection, string> = {
  connecting: 'Connecting …',
  open: 'Connected',
  lost: 'Connection lost, trying again …',
  locked: 'Not signed in',
};

export function Header() {
  const connection = useMember((store) => store.connection);
  return (
    <header className="header">
      <Mark />
      <h1>Roomful</h1>
      <MemberName />
      <p className="connection" data-connection={connection} role="status">
        {words[connection]}
      </p>
    </header>
  );
}

function MemberName() {
  const name = useMember((store) => store.member?.self.name);
  return name === undefined ? null : <p className="member-name">{name}</p>;
}

/** Three bands that together fill a room. */
function Mark() {
  return (
    <svg className="mark" viewBox="0 0 24 24" aria-hidden="true">
      <rect className="band-0" x="2" y="3" width="20" height="5" rx="2" />
      <rect className="band-1" x="2" y="9.5" width="13" height="5" rx="2" />
      <rect className="band-2" x="2" y="16" width="8" height="5" rx="2" />
    </svg>
  );
}
