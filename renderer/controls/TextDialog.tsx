import { type FormEvent, type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { Dialog } from './Dialog.tsx';
import { lineOf } from './lineOf.ts';

interface TextDialogProps {
  title: string;
  label: string;
  initial: string;
  /** On the button: `Rename`. */
  action: string;
  /** Long texts, such as a token, get several lines. */
  lines?: number;
  /** Not shown while it is typed. */
  secret?: boolean;
  /** The label of a second field, in which it is typed once more, so that no slip goes unseen. */
  repeat?: string;
  children?: ReactNode;
  onSubmit: (text: string) => Promise<unknown>;
  onClose: () => void;
}

/** Asks for one text and does something with it; stays open with the reason where that fails. */
export function TextDialog({
  title,
  label,
  initial,
  action,
  lines = 1,
  secret = false,
  repeat,
  children,
  onSubmit,
  onClose,
}: TextDialogProps) {
  const field = useId();
  const [text, setText] = useState(initial);
  const [repeated, setRepeated] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === '' || busy) return;
    if (repeat !== undefined && repeated !== text) {
      setProblem('The two are not the same; type them once more.');
      return;
    }
    setBusy(true);
    setProblem(null);
    onSubmit(text.trim()).then(onClose, (cause: unknown) => {
      setBusy(false);
      setProblem(lineOf(cause));
    });
  };
  const shared = { id: field, className: 'text-input', value: text };
  return (
    <Dialog title={title} onClose={onClose}>
      {children !== undefined && <div className="quiet">{children}</div>}
      <form onSubmit={submit} className="dialog-form">
        <label htmlFor={field}>{label}</label>
        {lines === 1 ? (
          <input
            {...shared}
            type={secret ? 'password' : 'text'}
            maxLength={1000}
            onChange={(event) => setText(event.target.value)}
          />
        ) : (
          <textarea
            {...shared}
            rows={lines}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={submitOnEnter}
          />
        )}
        {repeat !== undefined && (
          <>
            <label htmlFor={`${field}-again`}>{repeat}</label>
            <input
              id={`${field}-again`}
              className="text-input"
              type={secret ? 'password' : 'text'}
              maxLength={1000}
              value={repeated}
              onChange={(event) => setRepeated(event.target.value)}
            />
          </>
        )}
        {problem !== null && (
          <p className="notice" data-tone="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="dialog-actions">
          <button type="button" className="quiet-button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button" disabled={busy || text.trim() === ''}>
            {busy ? 'A moment …' : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** A long text is pasted, and has no lines of its own: Enter does what it does in a field of one line. */
function submitOnEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
