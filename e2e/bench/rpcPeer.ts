import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import type { LlamaPeer } from './llamaPeer.ts';
import { pinToCore } from './pinToCore.ts';

export interface RpcPeer {
  /** Base address of llama-server. */
  url: string;
  close(): Promise<void>;
}

const START_MS = 240_000;

/**
 * llama-server with two RPC servers of one thread each, the layers cut as `split` says (the head counts as one). `route`
 * gives the address by which an RPC server is reached.
 */
export async function startRpcPeer(options: {
  peer: LlamaPeer;
  modelPath: string;
  split: readonly number[];
  slots: number;
  /** Tokens over all slots. */
  contextLength: number;
  route: (address: string) => Promise<string>;
}): Promise<RpcPeer> {
  const { peer, modelPath, split, slots, contextLength, route } = options;
  const children: ChildProcess[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(children.reverse().map(ended));
  };
  try {
    const addresses: string[] = [];
    for (const core of split.keys()) {
      const port = await freePort();
      const server = start(peer.rpcServer, ['-H', '127.0.0.1', '-p', String(port), '-t', '1']);
      children.push(server);
      pinToCore(server.pid ?? 0, core);
      addresses.push(await route(`127.0.0.1:${port}`));
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const port = await freePort();
    const head = start(peer.server, [
      ...['--model', modelPath, '--rpc', addresses.join(','), '--n-gpu-layers', '99'],
      ...['--tensor-split', split.join(','), '--fit', 'off', '--threads', '1', '--parallel', String(slots)],
      ...['--ctx-size', String(contextLength), '--cache-ram', '0', '--host', '127.0.0.1', '--port', String(port)],
    ]);
    children.push(head);
    const url = `http://127.0.0.1:${port}`;
    await healthy(url, head);
    return { url, close };
  } catch (cause) {
    await close();
    throw cause;
  }
}

/** When each token of an answer came, ms of `performance.now()`. Greedy, whatever the tokens are. */
export async function rpcTokenTimes(url: string, prompt: readonly number[], tokens: number): Promise<number[]> {
  const body = {
    ...{ prompt, n_predict: tokens, stream: true, return_tokens: true, temperature: 0 },
    ...{ ignore_eos: true, cache_prompt: false },
  };
  const response = await fetch(`${url}/completion`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok || response.body === null) throw new Error(`llama-server answers ${response.status}.`);
  const times: number[] = [];
  let left = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const now = performance.now();
    const lines = (left + chunk).split('\n');
    left = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const { tokens: made = [], stop } = JSON.parse(line.slice('data: '.length));
      if (!stop) times.push(...made.map(() => now));
    }
  }
  return times;
}

function start(program: string, args: string[]): ChildProcess {
  return spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore'] });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

async function healthy(url: string, head: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline; ) {
    if (head.exitCode !== null) throw new Error(`llama-server ended with ${head.exitCode}.`);
    const answer = await fetch(`${url}/health`).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('llama-server did not come up.');
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const bound = server.address();
      server.close(() =>
        bound !== null && typeof bound === 'object' ? resolve(bound.port) : reject(new Error('no port')),
      );
    });
  });
}
