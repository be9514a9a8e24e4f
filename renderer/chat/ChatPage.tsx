import { Empty } from '../controls/Empty.tsx';
import { useMember } from '../member/memberStore.ts';
import { Page } from '../shell/Page.tsx';
import { Composer } from './Composer.tsx';
import { ask, bringBack, startOver, useChat } from './chatStore.ts';
import { Turns } from './Turns.tsx';
import './Chat.css';

const suggestion = 'What is a hop?';

/** A conversation with the serving model, kept while the window is open. */
export function ChatPage() {
  const model = useMember((store) => store.member?.pipelines.find(({ state }) => state === 'serving')?.modelId ?? null);
  return (
    <Page title="Chat" actions={<ChatActions />} fills>
      {model === null ? (
        <Empty icon="chat" title="No model is serving yet">
          <p>As soon as one serves, you can talk to it here.</p>
        </Empty>
      ) : (
        <section className="chat" aria-label="Chat">
          <ChatBody model={model} />
          <Composer model={model} />
        </section>
      )}
    </Page>
  );
}

function ChatActions() {
  const offers = useChat(({ turns, putAway }) => {
    if (turns.length > 0) return 'new';
    return putAway.length > 0 ? 'undo' : 'nothing';
  });
  return (
    <>
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
    </>
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
