import { useEffect, useState } from 'react';

const SHOWN_MS = 1_600;

interface CopyButtonProps {
  /** Named for screen readers: `Copy address`. */
  what: string;
  text: string;
}

export function CopyButton({ what, text }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<'Copied' | 'Not copied' | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setOutcome('Copied'),
      () => setOutcome('Not copied'),
    );
  return (
    <>
      <button type="button" className="quiet-button" aria-label={`Copy ${what}`} onClick={copy}>
        {outcome ?? 'Copy'}
      </button>
      <span className="for-screen-readers" role="status">
        {outcome}
      </span>
    </>
  );
}
