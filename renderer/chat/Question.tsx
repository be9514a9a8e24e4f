import { type FormEvent, type KeyboardEvent, useLayoutEffect, useRef } from 'react';
import type { ChatMessage } from '../../electron/gateway/memberApi.ts';
import { IconButton } from '../controls/IconButton.tsx';
import { edit, useDrafts } from './drafts.ts';
import { endsMessage } from './endsMessage.ts';
import { Versions } from './Versions.tsx';

interface QuestionProps {
  message: ChatMessage;
  /** Whether a question can be asked now. */
  ready: boolean;
  onSend: (text: string) => void;
}

export function Question({ message, ready, onSend }: QuestionProps) {
  const draft = useDrafts(({ edited }) => (edited?.message === message.id ? edited.text : null));
  const button = useRef<HTMLButtonElement>(null);
  const cancelled = useRef(false);
  useLayoutEffect(() => {
    if (draft !== null || !cancelled.current) return;
    cancelled.current = false;
    button.current?.focus();
  }, [draft]);
  const cancel = () => {
    cancelled.current = true;
    edit(null);
  };
  return (
    <article className={draft === null ? 'turn question-row' : 'turn'} aria-label="Your question">
      {draft !== null ? (
        <EditQuestion
          text={draft}
          ready={ready}
          onChange={(text) => edit({ message: message.id, text })}
          onCancel={cancel}
          onSend={onSend}
        />
      ) : (
        <>
          <div className="message-actions">
            <Versions message={message} />
            <IconButton
              icon="edit"
              label="Ask in other words"
              ref={button}
              onClick={() => edit({ message: message.id, text: message.content })}
            />
          </div>
          <p className="question">{message.content}</p>
        </>
      )}
    </article>
  );
}

interface EditQuestionProps {
  text: string;
  ready: boolean;
  onChange: (text: string) => void;
  onCancel: () => void;
  onSend: (text: string) => void;
}

function EditQuestion({ text, ready, onChange, onCancel, onSend }: EditQuestionProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const { current } = field;
    current?.focus();
    current?.setSelectionRange(current.value.length, current.value.length);
  }, []);
  const cannot = !ready || text.trim() === '';
  const send = () => {
    if (!cannot) onSend(text.trim());
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onCancel();
    if (!endsMessage(event)) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="edit-question" onSubmit={onSubmit}>
      <textarea
        ref={field}
        className="text-input"
        aria-label="The question in other words"
        rows={3}
        value={text}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="dialog-actions">
        <button type="button" className="quiet-button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="button" disabled={cannot}>
          Ask
        </button>
      </div>
    </form>
  );
}
