import { type FormEvent, type KeyboardEvent, useState } from 'react';
import { ask, stop, useChat } from './chatStore.ts';

export function Composer({ model }: { model: string }) {
  const [draft, setDraft] = useState('');
  const busy = useChat(({ turns }) => {
    const state = turns.at(-1)?.state;
    return state === 'waiting' || state === 'streaming';
  });
  const send = () => {
    const question = draft.trim();
    if (question === '' || busy) return;
    setDraft('');
    void ask(model, question);
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && busy) stop();
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="composer" onSubmit={onSubmit}>
      <textarea
        aria-label="Your message"
        placeholder={`Message ${model}`}
        rows={2}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {busy ? (
        <button type="button" className="button" onClick={stop}>
          Stop
        </button>
      ) : (
        <button type="submit" className="button">
          Send
        </button>
      )}
    </form>
  );
}
