import { Icon } from '../controls/Icon.tsx';
import type { Connection } from '../member/memberClient.ts';
import { useMember } from '../member/memberStore.ts';
import { hrefOf, type PageId, pages } from './route.ts';

const words: Record<Connection, string> = {
  connecting: 'Connecting …',
  open: 'Connected',
  lost: 'Connection lost, trying again …',
  locked: 'Not signed in',
};

/** The pages on the left, and below them which member this is and whether it answers. */
export function Navigation({ current }: { current: PageId }) {
  const connection = useMember((store) => store.connection);
  return (
    <header className="navigation">
      <div className="brand">
        <Mark />
        <span className="brand-name">Roomful</span>
      </div>
      <nav aria-label="Pages">
        <ul>
          {pages.map(({ id, name, icon }) => (
            <li key={id}>
              <a
                className="page-link"
                href={hrefOf(id)}
                title={name}
                aria-label={name}
                aria-current={id === current ? 'page' : undefined}
              >
                <Icon name={icon} />
                <span className="page-name">{name}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div className="navigation-foot">
        <MemberName />
        <p className="connection" data-connection={connection} role="status" title={words[connection]}>
          <span className="connection-words">{words[connection]}</span>
        </p>
      </div>
    </header>
  );
}

function MemberName() {
  const name = useMember((store) => store.member?.self.name) ?? '';
  return (
    <p className="member-name" title={name === '' ? undefined : `This member is ${name}`}>
      {name}
    </p>
  );
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
