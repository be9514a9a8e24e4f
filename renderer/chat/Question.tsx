import { type FormEvent, useState } from 'react';
import type { ChatMessage } from '../../electron/gateway/memberApi.ts';
import { IconButton } from '../controls/IconButton.tsx';
import { Versions } from './Versions.tsx';

interface QuestionProps {
  message: ChatMessage;
  editing: boolean;
  onEdit: (id: string | null) => void;
  onSend: (text: string) => void;
}

export function Question({ message, editing, onEdit, onSend }: QuestionProps) {
  return (
    <article className={editing ? 'turn' : 'turn question-row'} aria-label="Your question">
      {editing ? (
        <EditQuestion text={message.content} onCancel={() => onEdit(null)} onSend={onSend} />
      ) : (
        <>
          <div className="message-actions">
            <Versions message={message} />
            <IconButton icon="edit" label="Ask in other words" onClick={() => onEdit(message.id)} />
          </div>
          <p className="question">{message.content}</p>
        </>
      )}
    </article>
  );
}

function EditQuestion({ text, onCancel, onSend }: { text: string; onCancel: () => void; onSend: (t: string) => void }) {
  const [draft, setDraft] = useState(text);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (draft.trim() !== '') onSend(draft.trim());
  };
  return (
    <form className="edit-question" onSubmit={send}>
      <textarea
        className="text-input"
        aria-label="The question in other words"
        rows={3}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
      />
      <div className="dialog-actions">
        <button type="button" className="quiet-button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="button">
          Ask
        </button>
      </div>
    </form>
  );
}
