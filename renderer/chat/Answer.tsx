import type { ChatMessage } from '../../electron/gateway/memberApi.ts';
import { CopyButton } from '../controls/CopyButton.tsx';
import { answerLine } from './answerLine.ts';
import { Markdown } from './markdown/Markdown.tsx';
import { Versions } from './Versions.tsx';

interface AnswerProps {
  text: string;
  /** Null while the answer is under way. */
  message: ChatMessage | null;
  /** Null where nothing can be asked now. */
  onRegenerate: (() => void) | null;
}

export function Answer({ text, message, onRegenerate }: AnswerProps) {
  const facts = message?.answer ?? null;
  const state = facts?.outcome ?? (text === '' ? 'waiting' : 'streaming');
  return (
    <article className="turn" aria-label="Answer">
      <div className="answer" data-state={state} aria-busy={message === null}>
        {state === 'waiting' ? <p className="quiet">Reading the question …</p> : <Markdown text={text} />}
        {facts?.problem && (
          <p className="notice" data-tone="problem">
            {facts.problem}
          </p>
        )}
        <p className="answer-line number">{facts === null ? '' : answerLine(facts)}</p>
        <div className="message-actions">
          {message !== null && (
            <>
              <Versions message={message} />
              <CopyButton what="the answer" text={text} />
              <button
                type="button"
                className="quiet-button"
                disabled={onRegenerate === null}
                onClick={() => onRegenerate?.()}
              >
                Try again
              </button>
            </>
          )}
        </div>
      </div>
    </article>
  );
}
