import { type CallFormat, callFormats } from '../tools/callFormat.ts';

/** How a model marks what it thinks. */
export interface ThinkingMarks {
  open: string;
  close: string;
  /** What begins an answer without a thought. */
  skipped?: string;
}

const thinkingMarks: readonly ThinkingMarks[] = [
  { open: '<think>', close: '</think>' },
  { open: '[THINK]', close: '[/THINK]' },
  { open: '<seed:think>', close: '</seed:think>' },
  { open: '◁think▷', close: '◁/think▷' },
  { open: '<think:opensource>', close: '</think:opensource>' },
  {
    open: '<|channel|>analysis<|message|>',
    close: '<|end|><|start|>assistant<|channel|>final<|message|>',
    skipped: '<|channel|>final<|message|>',
  },
];

/** What a chat template has a place for, read off its source. */
export interface TemplateTraits {
  developer: boolean;
  /** The format of calls that it teaches and writes; null where it knows none that is read here. */
  calls: CallFormat | null;
  /** Earlier calls and their results have a place in it. */
  callHistory: boolean;
  /** It joins the arguments of earlier calls to text, so they must be text. */
  textArguments: boolean;
  thinking: ThinkingMarks | null;
  /** The values of `reasoning_effort` that it takes; null where it does not list them. */
  efforts: readonly string[] | null;
  /** Variables by name: whether the source speaks of one. */
  mentions: (name: string) => boolean;
}

export function templateTraits(source: string): TemplateTraits {
  const mentions = (name: string): boolean => new RegExp(`(?<![\\w.])${name}(?!\\w)`).test(source);
  const calls =
    mentions('tools') || mentions('functions') ? (callFormats.find((format) => format.isOf(source)) ?? null) : null;
  return {
    developer: source.includes('developer'),
    calls,
    callHistory: calls !== null && source.includes('tool_calls'),
    textArguments: /\+[^+|{}%]*\barguments\b['"]?\]?\s*(\+|-?[%}]\})/.test(source),
    thinking: thinkingMarks.find(({ open }) => inSource(source, open)) ?? null,
    efforts: listedEfforts(source),
    mentions,
  };
}

/** As in `reasoning_effort not in ['high', 'low']`. */
function listedEfforts(source: string): readonly string[] | null {
  const list = /\breasoning_effort\s+(?:not\s+)?in\s+[[(]([^\])]*)[\])]/.exec(source)?.[1];
  return list === undefined ? null : [...list.matchAll(/['"]([^'"]*)['"]/g)].map(([, value]) => value ?? '');
}

/** Templates may write a mark in parts: harmony's name of the channel is joined to it, and Hy3 formats its own. */
function inSource(source: string, mark: string): boolean {
  if (mark === '<think:opensource>') return source.includes("':opensource'") && source.includes('<think{}>');
  return source.includes(mark) || (mark.startsWith('<|channel|>') && source.includes('<|channel|>analysis'));
}
