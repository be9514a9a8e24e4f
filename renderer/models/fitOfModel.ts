import type { Fit } from '../../electron/planner/explain/fitOf.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { answerTo } from '../planner/scenario/answer.ts';
import type { ModelChoice } from '../planner/scenario/modelChoice.ts';
import { exampleScenario, type Question } from '../planner/scenario/scenario.ts';

export interface FitView {
  text: string;
  tone: 'good' | 'warn' | 'problem';
}

/** How a model would do in a room, in a few words: `on 2 members, about 6 tokens/s`. */
export function fitOfModel(model: ModelChoice, room: Pick<Question, 'members' | 'links'>): FitView | null {
  if (room.members.length === 0) return null;
  const { plan } = answerTo({ ...exampleScenario().question, ...room, model, replicas: 1 });
  if (plan === null) return null;
  const { fit, hops, prediction, shortfall } = plan;
  return fitWords(fit, hops, prediction?.tokensPerSecond ?? null, shortfall?.missingBytes ?? null);
}

export function fitWords(fit: Fit, hops: number | null, rate: number | null, missingBytes: number | null): FitView {
  if (fit === 'DoesNotFit') {
    const missing = missingBytes !== null && missingBytes > 0 ? `: ${formatBytes(missingBytes)} missing` : '';
    return { text: `does not fit${missing}`, tone: 'problem' };
  }
  const members = (hops ?? 0) + 1;
  const pace = rate === null ? '' : `, about ${rate >= 10 ? rate.toFixed(0) : rate.toFixed(1)} tokens/s`;
  return { text: `fits on ${members === 1 ? 'one member' : `${members} members`}${pace}`, tone: 'good' };
}
