import type { Conversation } from '../../electron/gateway/memberApi.ts';
import { answerLine } from './answerLine.ts';
import { threadTo } from './thread.ts';

/** The branch that is shown as markdown, for people. */
export function chatAsMarkdown({ title, settings, history, leaf }: Conversation): string {
  const system = settings.system === '' ? [] : [`> ${settings.system.replaceAll('\n', '\n> ')}`];
  const messages = threadTo(history, leaf).map(({ role, content, answer }) =>
    role === 'user' ? `## ${content}` : `${content}${answer === null ? '' : `\n\n_${answerLine(answer)}_`}`,
  );
  return `${[`# ${title}`, ...system, ...messages].join('\n\n')}\n`;
}
