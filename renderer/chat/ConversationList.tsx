import { useDeferredValue, useEffect, useState } from 'react';
import type { ConversationHead, FoundMessage } from '../../electron/gateway/memberApi.ts';
import { ConfirmDialog } from '../controls/ConfirmDialog.tsx';
import { Icon } from '../controls/Icon.tsx';
import { IconButton } from '../controls/IconButton.tsx';
import { TextDialog } from '../controls/TextDialog.tsx';
import { callMember, useMember } from '../member/memberStore.ts';
import { chat, useChat } from './chat.ts';

type Asked = { kind: 'rename' | 'delete'; head: ConversationHead };

/** The conversations that are kept on this machine, and a search through all of them. */
export function ConversationList() {
  const heads = useChat((store) => store.heads);
  const connected = useMember(({ connection }) => connection === 'open');
  const [search, setSearch] = useState('');
  const [asked, setAsked] = useState<Asked | null>(null);
  useEffect(() => {
    if (connected) void chat.loadHeads();
  }, [connected]);
  const close = () => setAsked(null);
  return (
    <section className="conversations" aria-label="Conversations">
      <button type="button" className="quiet-button" onClick={chat.startNew}>
        <Icon name="plus" /> New chat
      </button>
      <input
        type="search"
        className="text-input"
        placeholder="Search"
        aria-label="Search in all chats"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      {search.trim() !== '' ? (
        <Found text={search} />
      ) : heads?.length === 0 ? (
        <p className="quiet small">Chats are kept on this machine alone, and appear here.</p>
      ) : (
        <ul className="conversation-list">
          {heads?.map((head) => (
            <Entry key={head.id} head={head} onAsk={setAsked} />
          ))}
        </ul>
      )}
      {asked?.kind === 'rename' && (
        <TextDialog
          title="Rename the chat"
          label="Title"
          initial={asked.head.title}
          action="Rename"
          onSubmit={(title) => chat.rename(asked.head.id, title.slice(0, 200))}
          onClose={close}
        />
      )}
      {asked?.kind === 'delete' && (
        <ConfirmDialog
          title="Delete this chat?"
          action="Delete"
          onConfirm={() => chat.remove(asked.head.id)}
          onClose={close}
        >
          “{asked.head.title}” is deleted from this machine, with all of its messages.
        </ConfirmDialog>
      )}
    </section>
  );
}

function Entry({ head, onAsk }: { head: ConversationHead; onAsk: (asked: Asked) => void }) {
  const shown = useChat((store) => store.shown.id === head.id);
  return (
    <li className="conversation" data-shown={shown}>
      <button
        type="button"
        className="conversation-open"
        aria-current={shown}
        title={head.title}
        onClick={() => void chat.open(head.id)}
      >
        {head.title}
      </button>
      {shown && (
        <>
          <IconButton icon="edit" label="Rename the chat" onClick={() => onAsk({ kind: 'rename', head })} />
          <IconButton icon="trash" label="Delete the chat" onClick={() => onAsk({ kind: 'delete', head })} />
        </>
      )}
    </li>
  );
}

function Found({ text }: { text: string }) {
  const wanted = useDeferredValue(text);
  const [found, setFound] = useState<FoundMessage[] | null>(null);
  useEffect(() => {
    let current = true;
    callMember('searchConversations', { text: wanted.slice(0, 1000) }).then(
      (answer) => current && setFound(answer.found),
      () => current && setFound([]),
    );
    return () => {
      current = false;
    };
  }, [wanted]);
  if (found?.length === 0) return <p className="quiet small">Nothing found.</p>;
  return (
    <ul className="conversation-list">
      {found?.map(({ conversation, title, message, excerpt }) => (
        <li key={message} className="conversation">
          <button
            type="button"
            className="conversation-open conversation-found"
            onClick={() => void chat.open(conversation).then(() => chat.showVersion(message))}
          >
            <strong>{title}</strong>
            <span className="quiet small">{excerpt}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
