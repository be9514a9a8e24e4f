import { useState } from 'react';
import type { ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { ConfirmDialog } from '../controls/ConfirmDialog.tsx';
import { lineOf } from '../controls/lineOf.ts';
import { callMember } from '../member/memberStore.ts';

/** Ends a model from any member's window: one that comes up at once, one that serves after a question. */
export function StopButton({ pipeline: { modelId, state } }: { pipeline: Pick<ServingPipeline, 'modelId' | 'state'> }) {
  const [asks, setAsks] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const serves = state === 'serving';
  const cancel = () => {
    setBusy(true);
    setProblem(null);
    callMember('stop', { model: modelId })
      .catch((cause: unknown) => setProblem(lineOf(cause)))
      .finally(() => setBusy(false));
  };
  return (
    <div className="row stop-button">
      {problem !== null && (
        <p className="notice small" data-tone="problem" role="alert">
          {problem}
        </p>
      )}
      <button
        type="button"
        className="quiet-button"
        aria-label={serves ? `Stop ${modelId}` : `Cancel ${modelId}`}
        disabled={busy || state === 'draining'}
        onClick={() => (serves ? setAsks(true) : cancel())}
      >
        {serves || state === 'draining' ? 'Stop' : 'Cancel'}
      </button>
      {asks && (
        <ConfirmDialog
          title={`Stop ${modelId}?`}
          action="Stop"
          onConfirm={() => callMember('stop', { model: modelId })}
          onClose={() => setAsks(false)}
        >
          It ends for everyone in the pool. Answers that run have 30 seconds to end.
        </ConfirmDialog>
      )}
    </div>
  );
}
