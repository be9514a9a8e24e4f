import type { FormEvent, KeyboardEvent } from 'react';
import { chat, useChat } from './chat.ts';
import { useDrafts, write } from './drafts.ts';
import { endsMessage } from './endsMessage.ts';

const FIELD = 'composer-text';

export function focusComposer(): void {
  document.getElementById(FIELD)?.focus();
}

/** Where one writes. Enter sends, Shift+Enter begins a line, Escape stops the answer. */
export function Composer({ model }: { model: string | null }) {
  const conversation = useChat((store) => store.shown.id);
  const draft = useDrafts(({ written }) => written[conversation] ?? '');
  const busy = useChat((store) => store.running !== null);
  const send = () => {
    const question = draft.trim();
    if (question === '' || busy || model === null) return;
    write(conversation, '');
    void chat.ask(model, question);
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && busy) chat.stop();
    if (!endsMessage(event)) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="composer" onSubmit={onSubmit}>
      <textarea
        id={FIELD}
        className="text-input"
        aria-label="Your message"
        placeholder={model === null ? 'No model is serving yet' : `Message ${model}`}
        rows={2}
        value={draft}
        onChange={(event) => write(conversation, event.target.value)}
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
