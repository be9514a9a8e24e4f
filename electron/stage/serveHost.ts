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

/** A request that the host cannot answer yet, or any more. */
export class WrongOrder extends Error {
  readonly code = 'WrongOrder';
}

/** Electron's `process.parentPort`, as far as it is used here. */
interface ParentPort {
  on(event: 'message', listener: (event: { data: unknown }) => void): void;
  postMessage(message: unknown): void;
}

/**
 * The host's side: answers its parent for as long as the parent is there, and ends the process after its answer to `leave`.
 * `handlers` gets the function that tells the parent of events. What a handler throws becomes the answer, with its `code`;
 * what is no request is refused.
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
    const reply = await handler(params.data as never).then(
      (result) => ({ id, result }),
      (error: unknown) => ({ id, error: errorReply(error) }),
    );
    port.send(reply, method === 'leave' ? () => process.exit(0) : () => {});
  };
  port.onMessage((message) => void answer(message));
  // Ctrl-C in a terminal reaches every process of the group; only the parent decides when a host leaves.
  process.on('SIGINT', () => {});
}

function errorReply(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'Failed', message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { code, message: error.message };
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
