import { useMember } from '../member/memberStore.ts';
import { Composer } from './Composer.tsx';
import { ask, bringBack, startOver, useChat } from './chatStore.ts';
import { Turns } from './Turns.tsx';
import './Chat.css';

const suggestion = 'What is a hop?';

/** A conversation with the serving model, kept while the window is open. */
export function Chat() {
  const model = useMember((store) => store.member?.pipelines[0]?.modelId ?? '');
  return (
    <section className="card chat" aria-label="Chat">
      <ChatHead />
      <ChatBody model={model} />
      <Composer model={model} />
    </section>
  );
}

function ChatHead() {
  const offers = useChat(({ turns, putAway }) => {
    if (turns.length > 0) return 'new';
    return putAway.length > 0 ? 'undo' : 'nothing';
  });
  return (
    <div className="chat-head">
      <h2>Chat</h2>
      {offers === 'new' && (
        <button type="button" className="quiet-button" onClick={startOver}>
          New chat
        </button>
      )}
      {offers === 'undo' && (
        <button type="button" className="quiet-button" onClick={bringBack}>
          Undo: bring the last chat back
        </button>
      )}
    </div>
  );
}

function ChatBody({ model }: { model: string }) {
  const empty = useChat((store) => store.turns.length === 0);
  if (!empty) return <Turns model={model} />;
  return (
    <div className="chat-empty">
      <p>
        Ask <strong>{model}</strong> anything. Nothing leaves the members shown here.
      </p>
      <button type="button" className="suggestion" onClick={() => void ask(model, suggestion)}>
        {suggestion}
      </button>
    </div>
  );
}
