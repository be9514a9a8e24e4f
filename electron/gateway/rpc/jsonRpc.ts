import { z } from 'zod';

/** Wrong params of a method; `field` is the dotted path of the one at fault. */
export class InvalidParams extends Error {
  readonly field: string | null;

  constructor(field: string | null, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'InvalidParams';
    this.field = field;
  }
}

/** Takes the params of a call, throws `InvalidParams` or returns the result. */
export type RpcMethod = (params: unknown) => unknown;

type RpcId = string | number | null;

export interface RpcError {
  code: number;
  message: string;
  data?: { field: string | null };
}

export type RpcResponse = { jsonrpc: '2.0'; id: RpcId } & ({ result: unknown } | { error: RpcError });

export const rpcParseError: RpcResponse = failure(null, {
  code: -32700,
  message: 'Parse error: the body is not JSON.',
});

const MAX_BATCH = 100;

const envelope = z.object({
  jsonrpc: z.literal('2.0'),
  method: z.string(),
  params: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).optional(),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
});

/**
 * Answers a parsed body as JSON-RPC 2.0 has it: one response, one per call of a batch that has an id, or null when
 * there is nothing to answer (https://www.jsonrpc.org/specification).
 *
 * @param onFailure told when a method fails for another reason than its params; the client sees -32603.
 */
export async function answerRpc(
  body: unknown,
  methods: ReadonlyMap<string, RpcMethod>,
  onFailure: (method: string, error: unknown) => void,
): Promise<RpcResponse | RpcResponse[] | null> {
  if (!Array.isArray(body)) return answerCall(body, methods, onFailure);
  if (body.length === 0) return invalidRequest(null, 'The batch is empty.');
  if (body.length > MAX_BATCH) return invalidRequest(null, `A batch takes at most ${MAX_BATCH} calls.`);
  const responses: RpcResponse[] = [];
  for (const call of body) {
    const response = await answerCall(call, methods, onFailure);
    if (response !== null) responses.push(response);
  }
  return responses.length === 0 ? null : responses;
}

async function answerCall(
  body: unknown,
  methods: ReadonlyMap<string, RpcMethod>,
  onFailure: (method: string, error: unknown) => void,
): Promise<RpcResponse | null> {
  const call = envelope.safeParse(body);
  if (!call.success) {
    const field = call.error.issues[0]?.path.join('.') ?? '';
    return invalidRequest(
      readableId(body),
      field === '' ? 'A call is a JSON object.' : `Wrong field: ${field}.`,
      field,
    );
  }
  const { method: name, params, id } = call.data;
  const respond = (response: RpcResponse): RpcResponse | null => (id === undefined ? null : response);
  const method = methods.get(name);
  if (method === undefined) {
    return respond(failure(id ?? null, { code: -32601, message: `Method not found: ${name}.` }));
  }
  try {
    return respond({ jsonrpc: '2.0', id: id ?? null, result: await method(params) });
  } catch (error) {
    if (error instanceof InvalidParams) {
      const message = `Invalid params: ${error.message}`;
      return respond(failure(id ?? null, { code: -32602, message, data: { field: error.field } }));
    }
    onFailure(name, error);
    return respond(failure(id ?? null, { code: -32603, message: 'Internal error; the log of the gateway says more.' }));
  }
}

function invalidRequest(id: RpcId, message: string, field = ''): RpcResponse {
  const data = field === '' ? {} : { data: { field } };
  return failure(id, { code: -32600, message: `Invalid request: ${message}`, ...data });
}

function failure(id: RpcId, error: RpcError): RpcResponse {
  return { jsonrpc: '2.0', id, error };
}

function readableId(body: unknown): RpcId {
  const id = typeof body === 'object' && body !== null && 'id' in body ? body.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
