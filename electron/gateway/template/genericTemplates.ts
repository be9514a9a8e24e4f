import type { ServedModel } from '../../pipeline/serving/servedModel.ts';

/** A template that is nobody's own. */
export interface GenericTemplate {
  source: string;
  /** Texts that end an answer, for vocabularies in which they are no end tokens. */
  stop: readonly string[];
}

/** The formats that models without a template of their own are known to speak, by the names that clients may ask for. */
export const genericTemplates = {
  chatml: {
    source:
      "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
      "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    stop: ['<|im_end|>', '<|im_start|>'],
  },
  llama2: {
    source:
      "{% if messages[0]['role'] == 'system' %}{% set first = '<<SYS>>\\n' + messages[0]['content'] + '\\n<</SYS>>\\n\\n' %}" +
      "{% set rest = messages[1:] %}{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}" +
      "{% for message in rest %}{% if message['role'] == 'assistant' %}{{ ' ' + message['content'] + ' ' + eos_token }}" +
      "{% else %}{{ bos_token + '[INST] ' + (first if loop.index0 == 0 else '') + message['content'] + ' [/INST]' }}" +
      '{% endif %}{% endfor %}',
    stop: ['[INST]'],
  },
  llama3: {
    source:
      '{{ bos_token }}{% for message in messages %}' +
      "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] + '<|eot_id|>' }}" +
      "{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    stop: ['<|eot_id|>', '<|start_header_id|>'],
  },
  gemma: {
    source:
      "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no place for system') }}{% endif %}" +
      "{% for message in messages %}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) " +
      "+ '\\n' + message['content'] + '<end_of_turn>\\n' }}{% endfor %}" +
      "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}",
    stop: ['<end_of_turn>', '<start_of_turn>'],
  },
  mistral: {
    source:
      "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ raise_exception('no place for system') }}" +
      "{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + eos_token }}" +
      "{% else %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% endif %}{% endfor %}",
    stop: ['[INST]'],
  },
  phi3: {
    source:
      "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n' }}{% endfor %}" +
      "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
    stop: ['<|end|>', '<|user|>'],
  },
} as const satisfies Record<string, GenericTemplate>;

export type GenericName = keyof typeof genericTemplates;

/**
 * The format of a model without a template, where its vocabulary or architecture gives it away: a token that one format alone
 * has, or an architecture that knows one format alone. Null where it is anybody's guess.
 */
export function knownFormat({ architecture, controlTokens }: ServedModel): GenericName | null {
  const tokens = new Set(controlTokens.values());
  if (tokens.has('<|im_start|>')) return 'chatml';
  if (tokens.has('<|start_header_id|>')) return 'llama3';
  if (tokens.has('<start_of_turn>') || architecture.startsWith('gemma')) return 'gemma';
  if (tokens.has('[INST]')) return 'mistral';
  if (architecture === 'phi3') return 'phi3';
  return null;
}

/** The format that `generic` stands for. */
export function genericFormat(model: ServedModel): GenericName {
  return knownFormat(model) ?? (model.architecture === 'llama' && model.bosText === '<s>' ? 'llama2' : 'chatml');
}
