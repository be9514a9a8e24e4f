import { invalidField } from '../gatewayError.ts';
import type { Chat } from './renderChat.ts';
import type { TemplateTraits } from './templateTraits.ts';

export type ReasoningEffort = (typeof efforts)[number];

/** From the least to the most. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const OWN_VARIABLES = new Set([
  ...['messages', 'tools', 'documents', 'add_generation_prompt', 'bos_token', 'eos_token', 'range', 'raise_exception'],
  ...['strftime_now', 'true', 'false', 'none', 'True', 'False', 'None'],
]);

/**
 * What a template is told beside the messages.
 *
 * @throws GatewayError 400 that names what the template of the model `id` has no place for.
 */
export function templateVariables(
  { kwargs, effort, fields }: Pick<Chat, 'kwargs' | 'effort' | 'fields'>,
  { mentions, thinking, efforts: known }: TemplateTraits,
  id: string,
): Record<string, unknown> {
  for (const [name, value] of Object.entries(kwargs)) {
    const field = `chat_template_kwargs.${name}`;
    if (OWN_VARIABLES.has(name)) throw invalidField(field, `${field} is set by the gateway; leave it out.`);
    const changesNothing = name === 'enable_thinking' && value === false && thinking === null;
    if (!mentions(name) && !changesNothing) {
      throw invalidField(
        field,
        `${field}: the chat template of ${id} knows no ${name}; leave it out.`,
        'unsupported_value',
      );
    }
  }
  if (effort === null) return kwargs;
  if (mentions('no_think') && mentions('reasoning_effort') && (effort === 'none' || effort === 'any'))
    return { reasoning_effort: effort === 'none' ? 'no_think' : 'high', ...kwargs };
  if (effort !== 'any' && mentions('reasoning_effort') && (effort !== 'none' || known?.includes(effort)))
    return { reasoning_effort: known === null ? effort : nearestEffort(effort, known), ...kwargs };
  if (mentions('enable_thinking')) return { enable_thinking: effort !== 'none', ...kwargs };
  if ((effort === 'none' && thinking === null) || (effort === 'any' && thinking !== null)) return kwargs;
  const message = `${fields.effort}: the chat template of ${id} has no place for this value; leave it out.`;
  throw invalidField(fields.effort, message, 'unsupported_value');
}

/** Of two that are equally near the one that thinks more. Thinking is not turned off where some was asked for. */
function nearestEffort(asked: ReasoningEffort, known: readonly string[]): string {
  const place = rank(asked);
  const [nearest = asked] = efforts
    .filter((effort) => known.includes(effort) && (effort !== 'none' || asked === 'none'))
    .sort((a, b) => Math.abs(rank(a) - place) - Math.abs(rank(b) - place) || rank(b) - rank(a));
  return nearest;
}

function rank(effort: ReasoningEffort): number {
  return efforts.indexOf(effort);
}
