import { useEffect, useRef } from 'react';
import { answerLine } from './answerLine.ts';
import { retry, type Turn, useChat } from './chatStore.ts';

const NEAR_THE_END = 48; // px; whoever scrolled further up wants to stay there

export function Turns({ model }: { model: string }) {
  const turns = useChat((store) => store.turns);
  const list = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const count = useRef(turns.length);
  useEffect(() => {
    if (list.current === null) return;
    if (follows.current || turns.length !== count.current) list.current.scrollTop = list.current.scrollHeight;
    count.current = turns.length;
  }, [turns]);
  const onScroll = () => {
    if (list.current === null) return;
    const { scrollHeight, scrollTop, clientHeight } = list.current;
    follows.current = scrollHeight - scrollTop - clientHeight < NEAR_THE_END;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable with the keyboard
    <div className="turns" ref={list} onScroll={onScroll} role="log" aria-label="Conversation" tabIndex={0}>
      {turns.map((turn, index) => (
        <TurnView key={turn.id} turn={turn} onRetry={index === turns.length - 1 ? () => void retry(model) : null} />
      ))}
    </div>
  );
}

function TurnView({ turn, onRetry }: { turn: Turn; onRetry: (() => void) | null }) {
  const line = answerLine(turn);
  return (
    <article className="turn">
      <p className="question">{turn.question}</p>
      <div
        className="answer"
        data-state={turn.state}
        aria-busy={turn.state === 'waiting' || turn.state === 'streaming'}
      >
        {turn.state === 'waiting' ? <p className="quiet">Reading the question …</p> : <p>{turn.answer}</p>}
        {turn.problem !== null && (
          <p className="problem" role="alert">
            {turn.problem}
            {onRetry !== null && (
              <button type="button" className="quiet-button" onClick={onRetry}>
                Try again
              </button>
            )}
          </p>
        )}
        <p className="answer-line">{line}</p>
      </div>
    </article>
  );
}
