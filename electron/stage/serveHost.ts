import {
  type EventDataOf,
  type EventOf,
  type HostContract,
  type HostReply,
  type MethodOf,
  type ParamsOf,
  type ResultOf,
  requestSchema,
} from './hostContract.ts';

export type HostHandlers<C extends HostContract> = {
  [M in MethodOf<C>]: (params: ParamsOf<C, M>) => Promise<ResultOf<C, M>>;
};

export type EmitEvent<C extends HostContract> = <E extends EventOf<C>>(event: E, data: EventDataOf<C, E>) => void;

/** Electron's `process.parentPort`, as far as it is used here. */
interface ParentPort {
  on(event: 'message', listener: (event: { data: unknown }) => void): void;
  postMessage(message: unknown): void;
}

/**
 * The host's side: answers its parent for as long as the parent is there. `handlers` gets the function that tells the
 * parent of events; the process ends after its answer to `leave`. What a handler throws becomes the answer, with its `code`; what is no request is refused.
 */
export function serveHost<C extends HostContract>(
  contract: C,
  handlers: (emit: EmitEvent<C>) => HostHandlers<C>,
): void {
  const port = parentPort();
  const post = (reply: HostReply): void => port.send(reply, () => {});
  const table: Record<string, ((params: never) => Promise<unknown>) | undefined> = handlers((event, data) =>
    post({ event, data }),
  );
  const answer = async (message: unknown): Promise<void> => {
    const request = requestSchema.safeParse(message);
    if (!request.success) return post({ id: 0, error: { code: 'BadRequest', message: 'This is no request.' } });
    const { id, method } = request.data;
    const schema = Object.hasOwn(contract.methods, method) ? contract.methods[method]?.params : undefined;
    const handler = table[method];
    if (schema === undefined || handler === undefined) {
      return post({ id, error: { code: 'BadRequest', message: `There is no method '${method}'.` } });
    }
    const params = schema.safeParse(request.data.params);
    if (!params.success) {
      const [issue] = params.error.issues;
      const where = issue?.path.join('.') ?? '';
      return post({
        id,
        error: { code: 'BadRequest', message: `${method}: ${where}: ${issue?.message ?? 'unreadable'}` },
      });
    }
    try {
      const result = await handler(params.data as never);
      port.send({ id, result }, method === 'leave' ? () => process.exit(0) : () => {});
    } catch (error) {
      post({ id, error: { code: codeOf(error), message: error instanceof Error ? error.message : String(error) } });
    }
  };
  port.onMessage((message) => void answer(message));
  // Ctrl-C in a terminal reaches every process of the group; only the parent decides when a host leaves.
  process.on('SIGINT', () => {});
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Failed';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.name;
}

interface Port {
  send(message: HostReply, sent: () => void): void;
  onMessage(listener: (message: unknown) => void): void;
}

function parentPort(): Port {
  const electron = (process as { parentPort?: ParentPort }).parentPort;
  if (electron !== undefined) {
    return {
      send: (message, sent) => {
        electron.postMessage(message);
        setImmediate(sent);
      },
      onMessage: (listener) => electron.on('message', (event) => listener(event.data)),
    };
  }
  process.on('disconnect', () => process.exit(0));
  return {
    send: (message, sent) => {
      process.send?.(message, undefined, {}, sent);
    },
    onMessage: (listener) => process.on('message', listener),
  };
}
