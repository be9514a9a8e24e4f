import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/**
 * A modal dialog while it is rendered: the browser keeps the focus inside and gives it back afterwards, to the page's first
 * region where what had it is gone.
 */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Its clean-up runs while the dialog is in the document still: the browser gives nothing back for one that is not.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog === null) return;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      if (document.activeElement === document.body)
        document.querySelector<HTMLElement>('.page-scroll, .turns')?.focus();
    };
  }, []);
  return (
    <dialog
      className="dialog"
      ref={element}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div className="dialog-body">
        <h2 id={heading}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
