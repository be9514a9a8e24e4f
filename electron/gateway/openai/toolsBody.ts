import { z } from 'zod';
import { invalidField } from '../gatewayError.ts';
import type { ChatTool } from '../template/chatMessage.ts';

const MOST_TOOLS = 128;

export const toolName = z.string().regex(/^[\w.:/-]{1,128}$/, 'must be 1 to 128 letters, digits or any of _ . : / -');

/** Arguments have names. */
export const toolParameters = z.looseObject({
  type: z.literal('object', 'must be "object": a call names its arguments').optional(),
});

const onlyFunctions = 'only tools of type "function" are supported';
const named = z.object({ type: z.literal('function', onlyFunctions), function: z.object({ name: z.string() }) });

const tool = z.object({
  type: z.literal('function', onlyFunctions),
  function: z.object({
    name: toolName,
    description: z.string().nullish(),
    parameters: toolParameters.nullish(),
    strict: z.boolean().nullish(),
  }),
});

/** The fields of a chat that say what the model may call. */
export const toolFields = {
  tools: z.array(tool).max(MOST_TOOLS).nullish(),
  tool_choice: z
    .union(
      [
        z.enum(['none', 'auto', 'required']),
        named,
        z.object({
          type: z.literal('allowed_tools'),
          allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: z.array(named).min(1) }),
        }),
      ],
      { error: 'must be none, auto, required, a function by its name, or allowed_tools' },
    )
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
};
const toolsBody = z.object(toolFields);

/** What the model may call, and whether it must. */
export interface ToolsCall {
  /** None where it may call nothing. */
  tools: ChatTool[];
  mustCall: boolean;
  parallelCalls: boolean;
}

/** @throws GatewayError 400 that names the field. */
export function readTools(body: z.infer<typeof toolsBody>): ToolsCall {
  const tools = (body.tools ?? []).map((one) => chatTool(one.function));
  const choice = body.tool_choice ?? 'auto';
  const parallel = body.parallel_tool_calls ?? null;
  if (typeof choice === 'string') return chosenTools(tools, { mode: choice, names: null, parallel });
  if (choice.type === 'function') {
    return chosenTools(tools, { mode: 'required', names: [choice.function.name], parallel: false });
  }
  const { mode, tools: allowed } = choice.allowed_tools;
  return chosenTools(tools, { mode, names: allowed.map((one) => one.function.name), parallel });
}

/**
 * `parallel` null is as OpenAI has it, several at once, but where a call must come: a model that is held to it does not end by itself.
 *
 * @throws GatewayError 400 for two tools of one name, and for a choice that leaves none.
 */
export function chosenTools(
  tools: readonly ChatTool[],
  {
    mode,
    names,
    parallel,
  }: { mode: 'none' | 'auto' | 'required'; names: readonly string[] | null; parallel: boolean | null },
): ToolsCall {
  const twice = tools.find(({ name }, index) => tools.findIndex((other) => other.name === name) < index);
  if (twice !== undefined) throw invalidField('tools', `tools: two have the name ${twice.name}.`);
  const unknown = names?.find((name) => !tools.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw invalidField(
      'tool_choice',
      `tool_choice names ${JSON.stringify(unknown.slice(0, 200))}, which is not in tools.`,
    );
  }
  if (mode === 'required' && tools.length === 0) {
    throw invalidField('tool_choice', 'tool_choice asks for a call, but tools is empty.');
  }
  const chosen = names === null ? [...tools] : tools.filter(({ name }) => names.includes(name));
  return {
    tools: mode === 'none' ? [] : chosen,
    mustCall: mode === 'required',
    parallelCalls: parallel ?? mode !== 'required',
  };
}

/** A function without parameters takes an empty object. */
export function chatTool({ name, description, parameters, strict }: z.infer<typeof tool>['function']): ChatTool {
  return {
    name,
    ...(description == null ? {} : { description }),
    parameters: { ...parameters, type: 'object' },
    strict: strict ?? false,
  };
}
