import { useMemo } from 'react';
import { Answer } from './Answer.tsx';
import { focusComposer } from './Composer.tsx';
import { chat, useChat } from './chat.ts';
import { edit } from './drafts.ts';
import { Question } from './Question.tsx';
import { threadTo } from './thread.ts';
import { VirtualRows } from './VirtualRows.tsx';

const ESTIMATE = 120; // px of a message that was never drawn

/** The messages of the branch that is shown, and the answer under way. */
export function Thread({ model }: { model: string | null }) {
  const shown = useChat((store) => store.shown);
  const running = useChat((store) => (store.running?.conversation === store.shown.id ? store.running : null));
  const failure = useChat((store) => (store.failure?.conversation === store.shown.id ? store.failure : null));
  const busy = useChat((store) => store.running !== null);
  const thread = useMemo(() => threadTo(shown.history, shown.leaf), [shown.history, shown.leaf]);
  const last = thread.at(-1);
  const failed = failure !== null && failure.question === last?.id ? failure : null;
  const hasExtra = running !== null || failed !== null;
  const ids = useMemo(
    () => [...thread.map(({ id }) => id), ...(hasExtra ? [running?.id ?? 'failure'] : [])],
    [thread, hasExtra, running?.id],
  );
  const regenerate =
    model === null || busy ? null : (question: string | null) => question !== null && void chat.answer(model, question);
  const row = (index: number) => {
    const message = thread[index];
    if (message === undefined) {
      return failed !== null && running === null ? (
        <Failure problem={failed.problem} onRetry={regenerate && (() => regenerate(failed.question))} />
      ) : (
        <Answer text={running?.text ?? ''} message={null} onRegenerate={null} />
      );
    }
    if (message.role === 'assistant') {
      return (
        <Answer
          text={message.content}
          message={message}
          onRegenerate={regenerate && (() => regenerate(message.parent))}
        />
      );
    }
    return (
      <Question
        message={message}
        ready={model !== null && !busy}
        onSend={(text) => {
          if (model === null) return;
          edit(null);
          focusComposer();
          void chat.edit(model, message, text);
        }}
      />
    );
  };
  return (
    <VirtualRows
      ids={ids}
      estimate={ESTIMATE}
      label="Conversation"
      listId={shown.id}
      growth={running?.text.length ?? 0}
      row={row}
    />
  );
}

function Failure({ problem, onRetry }: { problem: string; onRetry: (() => void) | null }) {
  return (
    <div className="answer" data-state="failed">
      <p className="notice row" data-tone="problem" role="alert">
        <span className="failure-text">{problem}</span>
        <button type="button" className="quiet-button" disabled={onRetry === null} onClick={() => onRetry?.()}>
          Try again
        </button>
      </p>
    </div>
  );
}
