import type { AnswerFacts } from '../../electron/gateway/memberApi.ts';
import { formatRate } from '../controls/formatMs.ts';

/**
 * The line under an answer: `24 tokens · 31.5 tokens per second · 75 % of drafts accepted · desk, macbook`. The tokens of one
 * that broke off are not known for sure.
 */
export function answerLine({ tokens, tokensPerSecond, acceptance, members, outcome }: AnswerFacts): string {
  return [
    outcome === 'stopped' ? 'Stopped' : null,
    tokens === null ? null : `${outcome === 'done' ? '' : 'about '}${tokens === 1 ? '1 token' : `${tokens} tokens`}`,
    tokensPerSecond === null ? null : `${formatRate(tokensPerSecond)} tokens per second`,
    acceptance === null ? null : `${Math.round(acceptance * 100)} % of drafts accepted`,
    members.length === 0 ? null : members.join(', '),
  ]
    .filter((part) => part !== null)
    .join(' · ');
}
