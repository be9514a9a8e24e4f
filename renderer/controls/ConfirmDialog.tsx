import { type ReactNode, useState } from 'react';
import { Dialog } from './Dialog.tsx';
import { lineOf } from './lineOf.ts';

interface ConfirmDialogProps {
  title: string;
  /** What will happen, for people. */
  children: ReactNode;
  /** On the button that does it: `Remove desk`. */
  action: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** Asks before something that cannot be undone, does it, and stays open with the reason where it fails. */
export function ConfirmDialog({ title, children, action, onConfirm, onClose }: ConfirmDialogProps) {
  const [state, setState] = useState<{ busy: boolean; problem: string | null }>({ busy: false, problem: null });
  const confirm = () => {
    setState({ busy: true, problem: null });
    onConfirm().then(onClose, (cause: unknown) => setState({ busy: false, problem: lineOf(cause) }));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="quiet">{children}</div>
      {state.problem !== null && (
        <p className="notice" data-tone="problem" role="alert">
          {state.problem}
        </p>
      )}
      <div className="dialog-actions">
        <button type="button" className="quiet-button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button danger" disabled={state.busy} onClick={confirm}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
