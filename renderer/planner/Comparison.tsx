import { formatMs } from '../controls/formatMs.ts';
import { Explanation } from './Explanation.tsx';
import { MemoryBar } from './graph/MemoryBar.tsx';
import { Outcome } from './Outcome.tsx';
import { compare, swapCompared, usePlayground } from './playgroundStore.ts';
import { memberViews } from './scenario/memberView.ts';
import { modelName } from './scenario/modelChoice.ts';
import type { Question } from './scenario/scenario.ts';

/** Two plans side by side: the one that was kept, and the one that changes. */
export function Comparison({ kept }: { kept: Question }) {
  const present = usePlayground(({ history }) => history.present.question);
  return (
    <div className="comparison">
      <Side title="Kept" question={kept}>
        <button type="button" className="quiet-button" onClick={swapCompared}>
          Work on this one
        </button>
      </Side>
      <Side title="Changing" question={present}>
        <button type="button" className="quiet-button" onClick={() => compare(true)}>
          Keep this one
        </button>
      </Side>
    </div>
  );
}

function Side({ title, question, children }: { title: string; question: Question; children: React.ReactNode }) {
  return (
    <section className="card comparison-side" aria-label={`${title} plan`}>
      <div className="comparison-head">
        <h2>
          {title} <span className="quiet">{modelName(question.model)}</span>
        </h2>
        {children}
      </div>
      <Outcome question={question} />
      <ul className="comparison-members">
        {[...memberViews(question).values()].map((view) => (
          <li key={view.id}>
            <span className="comparison-name" title={view.name}>
              {view.name}
            </span>
            <MemoryBar view={view} width={200} />
            <span className="quiet small number">
              {view.idle === null
                ? `${view.startLayer}–${view.endLayer - 1}${view.ms === null ? '' : ` · ${formatMs(view.ms)}`}`
                : 'idle'}
            </span>
          </li>
        ))}
      </ul>
      <Explanation question={question} of={`the ${title.toLowerCase()}`} />
    </section>
  );
}
