/**
 * How a model writes calls of functions, as its template teaches it: `begin`, then `open` NAME `toArguments` ARGUMENTS `close`, then
 * `next` and another one in the same way, or `end`. The marks are llama.cpp's (common/chat.cpp) for the same templates.
 */
export interface CallFormat {
  name: string;
  /** What a call begins with, however the model spaces it. */
  begins: readonly [string, ...string[]];
  /** Only the very beginning of an answer begins a call. */
  atStart: boolean;
  /** What follows `begin`. Everything up to the name stands in the prompt, so that the model cannot go astray in it. */
  open: string;
  toArguments: string;
  close: string;
  /** From one call to the name of the next; null where a model makes one at a time. */
  next: string | null;
  end: string;
  /** Whether a template teaches it. */
  isOf(source: string): boolean;
}

/** Of Hermes, Qwen and their like, and what models are taught here whose template knows no tools. */
export const hermesCalls: CallFormat = {
  name: 'hermes',
  begins: ['<tool_call>'],
  atStart: false,
  open: '\n{"name": "',
  toArguments: '", "arguments":',
  close: '}\n</tool_call>',
  next: '\n<tool_call>\n{"name": "',
  end: '',
  // Qwen3-Coder and GLM write XML in the same brackets.
  isOf: (source) => source.includes('<tool_call>') && !source.includes('<function=') && !source.includes('<arg_key>'),
};

const mistralNames: CallFormat = {
  name: 'mistral-names',
  begins: ['[TOOL_CALLS]'],
  atStart: false,
  open: '',
  toArguments: '[ARGS]',
  close: '',
  next: '[TOOL_CALLS]',
  end: '',
  isOf: (source) => source.includes('[TOOL_CALLS]') && source.includes('[ARGS]'),
};

const mistralList: CallFormat = {
  name: 'mistral-list',
  begins: ['[TOOL_CALLS]'],
  atStart: false,
  open: '[{"name": "',
  toArguments: '", "arguments":',
  close: '}',
  next: ', {"name": "',
  end: ']',
  isOf: (source) => source.includes('[TOOL_CALLS]') && !source.includes('[ARGS]'),
};

const llama3: CallFormat = {
  name: 'llama3',
  begins: ['{"name": "', '{"name":"', '{ "name": "'],
  atStart: true,
  open: '',
  toArguments: '", "parameters":',
  close: '}',
  next: null,
  end: '',
  isOf: (source) => source.includes('"parameters": ') && source.includes('<|start_header_id|>'),
};

/** Of Firefunction. */
const functools: CallFormat = {
  name: 'functools',
  begins: [' functools[', 'functools['],
  atStart: false,
  open: '{"name": "',
  toArguments: '", "arguments":',
  close: '}',
  next: ', {"name": "',
  end: ']',
  isOf: (source) => source.includes('functools['),
};

export const callFormats: readonly CallFormat[] = [functools, mistralNames, mistralList, hermesCalls, llama3];
