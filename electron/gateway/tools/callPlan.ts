import { invalidField } from '../gatewayError.ts';
import { literal } from '../grammar/jsonRules.ts';
import { schemaRules, UnsupportedSchema } from '../grammar/jsonSchemaGrammar.ts';
import type { ChatTool } from '../template/chatMessage.ts';
import type { CallFormat } from './callFormat.ts';

/** What llama.cpp is given to read (native/src/grammar.cpp), bytes. */
const LONGEST = 2 ** 18;

/** What calls an answer may hold, and how the model writes them. */
export interface CallPlan {
  format: CallFormat;
  /** Follows a mark that begins a call, and is put into the prompt: up to the name, or to the arguments where one tool is left. */
  opening: string;
  /** The tool whose name stands in `opening`. */
  onlyTool: string | null;
  /** More than one call in an answer. */
  parallel: boolean;
  /** GBNF of what follows `opening`. */
  grammar: string;
  /** The prompt ends with `opening`: the answer is a call whatever the model would rather say. */
  begun: boolean;
}

/**
 * Plans the calls of one answer. Their arguments keep to the schemas of the tools; where a schema asks for what no grammar here
 * can keep, a tool that is not strict gets arguments that keep to the rest of it.
 *
 * @throws GatewayError 400 for a schema of a strict tool that cannot be kept.
 */
export function planCalls(
  tools: readonly ChatTool[],
  format: CallFormat,
  { parallel, begun }: { parallel: boolean; begun: boolean },
): CallPlan {
  const grammar = callGrammar(tools, format, parallel);
  if (Buffer.byteLength(grammar) > LONGEST) {
    const strict = tools.findIndex((tool) => tool.strict);
    if (strict >= 0) throw invalidField('tools', `tools.${strict}: the schemas are too large together to be kept.`);
    const loose = tools.map((tool) => ({ ...tool, parameters: { type: 'object' } }));
    return planCalls(loose, format, { parallel, begun });
  }
  const onlyTool = onlyNameOf(tools);
  return {
    format,
    opening: onlyTool === null ? format.open : `${format.open}${onlyTool}${format.toArguments}`,
    onlyTool,
    parallel: parallel && format.next !== null,
    grammar,
    begun,
  };
}

function onlyNameOf(tools: readonly ChatTool[]): string | null {
  const [first] = tools;
  return tools.length === 1 && first !== undefined ? first.name : null;
}

/** GBNF of what follows the opening. */
function callGrammar(tools: readonly ChatTool[], format: CallFormat, parallel: boolean): string {
  const rules = new Set<string>();
  const calls = tools.map((tool, index) => {
    const { root, rules: own } = argumentRules(tool, index);
    for (const rule of own) rules.add(rule);
    return { name: tool.name, root };
  });
  const spaced = (root: string): string => `" "? ${root}`;
  const named = calls.map(({ name, root }) => `${literal(name + format.toArguments)} ${spaced(root)}`).join(' | ');
  const opened = onlyNameOf(tools) === null ? 'call' : spaced(calls[0]?.root ?? '');
  const rest = `${literal(format.close)} (${literal(format.next ?? '')} call ${literal(format.close)})* ${literal(format.end)}`;
  const root = parallel && format.next !== null ? `root ::= ${opened} ${rest}` : `root ::= ${opened}`;
  return `${[root, `call ::= ${named}`, ...rules].join('\n')}\n`;
}

/** The grammar of an answer that is either text that keeps to `answer`, or begins a call, which ends the text. */
export function orCall(answer: string, { begins }: CallFormat): string {
  const marks = begins.map((begin) => literal(begin)).join(' | ');
  return `root ::= answer | ${marks}\n${answer.replace(/^root ::=/, 'answer ::=')}`;
}

function argumentRules(tool: ChatTool, index: number): { root: string; rules: string[] } {
  const prefix = `t${index}r`;
  try {
    return schemaRules(tool.parameters, prefix);
  } catch (error) {
    if (!(error instanceof UnsupportedSchema)) throw error;
    if (tool.strict) {
      const where = `tools.${index}.function.parameters${error.path === '' ? '' : `.${error.path}`}`;
      throw invalidField(
        'tools',
        `${where} ${error.message}; a strict tool cannot be kept to it.`,
        'unsupported_value',
      );
    }
    return schemaRules(loosened(tool.parameters), prefix);
  }
}

/** The schema with any value where it asks for what cannot be kept. */
function loosened(schema: Record<string, unknown>): Record<string, unknown> {
  const { properties, required, $defs, definitions } = schema;
  const known = typeof properties === 'object' && properties !== null ? Object.entries(properties) : [];
  const kept = known.map(([name, value]: [string, unknown]) => {
    const alone = { type: 'object', properties: { [name]: value }, $defs, definitions };
    return [name, isKept(alone) ? value : true] as const;
  });
  const names = Array.isArray(required) ? required.filter((name) => known.some(([one]) => one === name)) : [];
  const loose = { type: 'object', properties: Object.fromEntries(kept), required: names, $defs, definitions };
  return isKept(loose) ? loose : { type: 'object' };
}

function isKept(schema: unknown): boolean {
  try {
    schemaRules(schema, 'r');
    return true;
  } catch (error) {
    if (error instanceof UnsupportedSchema) return false;
    throw error;
  }
}
