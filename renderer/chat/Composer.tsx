import { type FormEvent, type KeyboardEvent, useState } from 'react';
import { chat, useChat } from './chat.ts';

/** Where one writes. Enter sends, Shift+Enter begins a line, Escape stops the answer. */
export function Composer({ model }: { model: string | null }) {
  const [draft, setDraft] = useState('');
  const busy = useChat((store) => store.running !== null);
  const send = () => {
    const question = draft.trim();
    if (question === '' || busy || model === null) return;
    setDraft('');
    void chat.ask(model, question);
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && busy) chat.stop();
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="composer" onSubmit={onSubmit}>
      <textarea
        className="text-input"
        aria-label="Your message"
        placeholder={model === null ? 'No model is serving yet' : `Message ${model}`}
        rows={2}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {busy ? (
        <button type="button" className="button" onClick={chat.stop}>
          Stop
        </button>
      ) : (
        <button type="submit" className="button" disabled={model === null}>
          Send
        </button>
      )}
    </form>
  );
}
