import { Chat } from './chat/Chat.tsx';
import { Endpoint } from './endpoint/Endpoint.tsx';
import { Header } from './Header.tsx';
import { useMember } from './member/memberStore.ts';
import { Placement } from './placement/Placement.tsx';
import { Welcome } from './Welcome.tsx';
import './App.css';

/** The whole window: what serves and where on the left, the chat with it on the right. */
export function App() {
  const view = useMember(({ member, connection }) => {
    if (connection === 'locked') return 'locked';
    if (member === null) return 'connecting';
    return member.pipelines.length === 0 ? 'idle' : 'serving';
  });
  return (
    <div className="app">
      <Header />
      {view === 'serving' ? (
        <main className="columns">
          <div className="column">
            <Placement />
            <Endpoint />
          </div>
          <Chat />
        </main>
      ) : (
        <Welcome view={view} />
      )}
    </div>
  );
}
