import { formatMs, formatRate } from '../controls/formatMs.ts';
import { fitText, hopsText } from './outcomeText.ts';
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
  const hops = prediction === null ? '–' : hopsText(plan.pipelines);
  return (
    <dl className="outcome">
      <Fact name="Fit" value={fitText(plan)} tone={prediction === null ? 'problem' : 'good'} />
      <Fact name={hops === '1' ? 'Hop' : 'Hops'} value={hops} />
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
