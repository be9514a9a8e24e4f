import { formatBytes } from '../../electron/planner/formatBytes.ts';
import type { Plan } from '../../electron/planner/plan.ts';
import { formatMs, formatRate } from '../controls/formatMs.ts';
import { answerTo } from './scenario/answer.ts';
import type { Question } from './scenario/scenario.ts';

/** The plan in numbers. */
export function Outcome({ question }: { question: Question }) {
  const { plan, problem } = answerTo(question);
  if (plan === null) {
    return (
      <p className="notice" data-tone="problem" role="alert">
        {problem}
      </p>
    );
  }
  const { prediction } = plan;
  return (
    <dl className="outcome">
      <Fact name="Fit" value={fitText(plan)} tone={prediction === null ? 'problem' : 'good'} />
      <Fact name={plan.hops === 1 ? 'Hop' : 'Hops'} value={prediction === null ? '–' : String(plan.hops)} />
      <Fact name="Tokens/s" value={prediction === null ? '–' : formatRate(prediction.tokensPerSecond)} />
      <Fact name="All slots" value={prediction === null ? '–' : formatRate(prediction.tokensPerSecondMany)} />
      <Fact name="First token" value={prediction === null ? '–' : formatMs(prediction.firstTokenMs)} />
    </dl>
  );
}

function Fact({ name, value, tone }: { name: string; value: string; tone?: 'good' | 'problem' }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd data-tone={tone}>{value}</dd>
    </div>
  );
}

function fitText({ fit, pipelines, shortfall }: Plan): string {
  const missing = shortfall?.missingBytes ?? 0;
  if (fit === 'DoesNotFit') return missing > 0 ? `${formatBytes(missing)} missing` : 'Does not fit';
  const members = pipelines[0]?.stages.length ?? 0;
  const copies = pipelines.length > 1 ? `, ${pipelines.length} times` : '';
  return `${members === 1 ? 'On one member' : `On ${members} members`}${copies}`;
}
