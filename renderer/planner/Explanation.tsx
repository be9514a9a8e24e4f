import { answerTo } from './scenario/answer.ts';
import type { Question } from './scenario/scenario.ts';

/** Why the plan is as it is: one line for each decision. */
export function Explanation({ question, of = 'this' }: { question: Question; of?: string }) {
  const lines = answerTo(question).plan?.explain ?? [];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable with the keyboard
    <section className="explanation" aria-label={`Why ${of} plan`} tabIndex={0}>
      <ol>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: while one drags a slider a line only changes its words
          <li key={index}>{line}</li>
        ))}
      </ol>
    </section>
  );
}
