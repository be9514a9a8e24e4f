import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { type ChildMember, startChildMember } from '../../electron/cli/childMember.ts';
import { readLines } from '../../electron/cli/readLines.ts';
import { serveModel } from '../../electron/cli/serveModel.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { foundPool } from '../../electron/pool/foundPool.ts';
import { demoCorpus, demoModelPath } from '../testing/demoCorpus.ts';
import { processTree } from '../testing/processTree.ts';
import { sharesOf } from '../testing/testRoom.ts';

export interface SoakOptions {
  streams: number;
  seconds: number;
  onProgress?: (line: string) => void;
}

export interface SoakResult {
  seconds: number;
  /** Streams that came to their end, and the tokens in them. */
  answers: number;
  tokens: number;
  errors: string[];
  /** Answers that are not those that were given to the same request alone. */
  wrong: number;
  /** Clients that asked and read nothing. */
  unread: number;
  /** Resident memory of every process of the pool. */
  memory: { second: number; bytes: number }[];
}

/** Of one request. */
const CONTEXT = 256;
const MOST_TOKENS = 48;
const QUESTIONS = 12;
const SAMPLE_MS = 2000;
/** A client that reads nothing stays for so long, ms. */
const UNREAD_MS = 10_000;

type Body = Record<string, unknown>;

/**
 * Two members serve the demo model; clients ask one after the other, so many at once, greedy and seeded, while one more asks for
 * long answers and never reads. Linux.
 */
export async function soakPool({ streams, seconds, onProgress = () => {} }: SoakOptions): Promise<SoakResult> {
  const home = await mkdtemp(join(tmpdir(), 'roomful-soak-'));
  const members: ChildMember[] = [];
  try {
    const homes = ['a', 'b'].map((name) => join(home, name));
    await foundPool(join(home, 'pool'), homes);
    const sizes = { contextLength: CONTEXT, slots: streams };
    const shares = sharesOf([modelShape(await openModel(demoModelPath))], 2, sizes);
    for (const [index, { memoryBytes }] of shares.entries()) {
      members.push(
        await startChildMember({ home: homes[index] ?? home, name: `member-${index}`, memoryBytes, threads: 1 }),
      );
    }
    const [lead] = members;
    if (lead === undefined) throw new Error('No member has started.');
    const gateway = { origin: lead.gateway, tokenFile: lead.tokenFile };
    const places = members.map(({ address, id }) => ({ address, id }));
    let model = '';
    const events = serveModel(
      gateway,
      { modelPath: demoModelPath, members: places, ...sizes },
      new AbortController().signal,
    );
    for await (const event of events) {
      if (event.type === 'ready') model = event.model;
      if (event.type === 'failed') throw new Error(event.message);
    }
    const headers = {
      authorization: `Bearer ${(await readFile(lead.tokenFile, 'utf8')).trim()}`,
      'content-type': 'application/json',
    };
    const ask = (body: Body): Promise<Answer> => answerOf(`${lead.gateway}/v1/chat/completions`, headers, body);

    const bodies = requests(model);
    const alone: string[] = [];
    for (const body of bodies) alone.push((await ask(body)).text);

    const result: SoakResult = { seconds: 0, answers: 0, tokens: 0, errors: [], wrong: 0, unread: 0, memory: [] };
    const began = performance.now();
    const isOver = (): boolean => performance.now() - began > seconds * 1000;
    const stream = async (first: number): Promise<void> => {
      for (let next = first; !isOver(); next += 1) {
        const index = next % bodies.length;
        try {
          const { text, tokens } = await ask(bodies[index] ?? {});
          result.answers += 1;
          result.tokens += tokens;
          if (text !== alone[index]) result.wrong += 1;
        } catch (error) {
          result.errors.push(error instanceof Error ? error.message : String(error));
        }
      }
    };
    const watch = async (): Promise<void> => {
      while (!isOver()) {
        await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
        const second = Math.round((performance.now() - began) / 1000);
        const bytes = await residentBytes(members);
        result.memory.push({ second, bytes });
        onProgress(
          `${second} s: ${result.answers} answers, ${result.errors.length} errors, ${result.wrong} differ, ${Math.round(bytes / 1e6)} MB`,
        );
      }
    };
    const deaf = async (): Promise<void> => {
      while (!isOver()) {
        const { hostname, port } = new URL(lead.gateway);
        await askAndReadNothing(hostname, Number(port), headers.authorization, { ...bodies[0], max_tokens: CONTEXT });
        result.unread += 1;
      }
    };
    // The deaf client has the place of one of the streams.
    await Promise.all([...Array.from({ length: streams - 1 }, (_, index) => stream(index * 5)), watch(), deaf()]);
    result.seconds = (performance.now() - began) / 1000;
    return result;
  } finally {
    await Promise.all(members.map((member) => member.stop()));
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Every question greedy, and seeded at a temperature. */
function requests(model: string): Body[] {
  const questions = demoCorpus()
    .map(({ questions: [question] }) => question ?? '')
    .slice(0, QUESTIONS);
  return questions.flatMap((question, seed) => {
    const messages = [{ role: 'user', content: question }];
    const asked = { model, messages, stream: true, max_tokens: MOST_TOKENS };
    return [
      { ...asked, temperature: 0 },
      { ...asked, temperature: 0.9, top_p: 0.95, seed },
    ];
  });
}

interface Answer {
  text: string;
  tokens: number;
}

const chunkSchema = z.object({
  error: z.object({ message: z.string() }).optional(),
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }) })).default([]),
});

/** Rejects where the answer is an error, or breaks off. */
async function answerOf(url: string, headers: Record<string, string>, body: Body): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
  let text = '';
  let tokens = 0;
  for await (const line of readLines(response.body)) {
    if (line === 'data: [DONE]') return { text, tokens };
    if (!line.startsWith('data: ')) continue;
    const { error, choices } = chunkSchema.parse(JSON.parse(line.slice('data: '.length)));
    if (error !== undefined) throw new Error(error.message);
    for (const { delta } of choices) {
      if (!delta.content) continue;
      text += delta.content;
      tokens += 1;
    }
  }
  throw new Error('An answer broke off.');
}

/** Asks for an answer, takes nothing of it from the socket, and leaves after a while. */
async function askAndReadNothing(host: string, port: number, authorization: string, body: Body): Promise<void> {
  const text = JSON.stringify(body);
  const socket = connect({ host, port });
  socket.pause();
  socket.on('error', () => {});
  const head = [`POST /v1/chat/completions HTTP/1.1`, `host: ${host}:${port}`, `authorization: ${authorization}`];
  const length = `content-length: ${Buffer.byteLength(text)}`;
  socket.write(`${[...head, 'content-type: application/json', length].join('\r\n')}\r\n\r\n${text}`);
  await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
  socket.destroy();
}

async function residentBytes(members: readonly ChildMember[]): Promise<number> {
  const pids = members.flatMap(({ process: { pid = 0 } }) => processTree(pid).map((each) => each.pid));
  const sizes = await Promise.all(
    pids.map(async (pid) => {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
    }),
  );
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}
