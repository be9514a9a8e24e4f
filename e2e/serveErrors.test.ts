import { copyFile, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveModel } from '../electron/cli/serveModel.ts';
import { ggufBytes, modelEntries } from '../electron/gguf/testing/ggufBytes.ts';
import type { ServeEvent, ServeRequest } from '../electron/pipeline/serving/serveEvents.ts';
import { generateModel } from './models/generateModel.ts';
import { demoModelPath } from './testing/demoCorpus.ts';
import { processTree } from './testing/processTree.ts';
import { TestRoom } from './testing/testRoom.ts';

describe('a model that cannot be served', () => {
  let folder: string;
  let room: TestRoom;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-errors-'));
    room = await TestRoom.forModel(demoModelPath, 3);
  }, 180_000);
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** What happens when the lead's gateway is asked. */
  async function served(request: Partial<ServeRequest> & Pick<ServeRequest, 'modelPath'>): Promise<ServeEvent[]> {
    const gateway = { origin: room.lead.gateway, tokenFile: room.lead.tokenFile };
    const events: ServeEvent[] = [];
    const order = { members: room.members, ...request };
    for await (const event of serveModel(gateway, order, new AbortController().signal)) {
      if (event.type !== 'state') events.push(event);
    }
    return events;
  }

  /**
   * Every process of the room, and every file but what its members mean to keep: of their pool, as the epochs that they have
   * seen, of good models that were imported, and what has come of stage files, from which the next try goes on.
   */
  async function remains(): Promise<{ files: string[]; processes: string[] }> {
    const entries = await Promise.all(
      room.homes.map((home) => readdir(home, { recursive: true, withFileTypes: true })),
    );
    const files = entries.flat().filter((entry) => {
      const kept = entry.parentPath.split(sep).some((part) => ['pool', 'library', 'slices'].includes(part));
      return entry.isFile() && !kept;
    });
    const processes = processTree(process.pid).map(({ pid, command }) => `${pid} ${command}`);
    return { files: files.map(({ parentPath, name }) => join(parentPath, name)), processes };
  }

  const shards = async (): Promise<string> => {
    const shape = { layers: 4, width: 64, heads: 4, kvHeads: 2, feedForward: 128, vocabulary: 512, seed: 2 };
    const model = { architecture: 'llama', tied: false, shards: 3, ...shape } as const;
    const [first = '', second = ''] = await generateModel(join(folder, 'shards.gguf'), model);
    await rm(second);
    return first;
  };
  const truncated = async (): Promise<string> => {
    const path = join(folder, 'truncated.gguf');
    await copyFile(demoModelPath, path);
    await truncate(path, 3_000_000);
    return path;
  };
  /** As small as its header lets it be: it is refused by that. */
  const reranker = async (): Promise<string> => {
    const count = (value: number) => ({ type: 'u32', value }) as const;
    const entries = [
      ...modelEntries(1, 'bert'),
      ['bert.embedding_length', count(64)],
      ['bert.context_length', count(512)],
      ['bert.attention.head_count', count(4)],
      ['bert.feed_forward_length', count(128)],
      ['bert.attention.causal', { type: 'bool', value: false }],
      ['bert.pooling_type', count(4)],
      ['tokenizer.ggml.model', { type: 'string', value: 'bert' }],
      ['tokenizer.ggml.tokens', { type: 'array', element: 'string', values: Array.from({ length: 300 }, String) }],
    ] as const;
    const embedding = { name: 'token_embd.weight', dimensions: [64, 300], byteLength: 64 * 300 * 4 };
    const layer = { name: 'blk.0.attn_q.weight', dimensions: [64, 64], byteLength: 64 * 64 * 4 };
    const path = join(folder, 'reranker.gguf');
    await writeFile(path, ggufBytes({ entries: [...entries], tensors: [embedding, layer] }));
    return path;
  };
  const written = (name: string, content: string) => async (): Promise<string> => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 5400000\n`;

  it.each([
    ['a truncated file', truncated, /truncated\.gguf.*(end|short|truncated|missing)/i],
    ['a missing shard', shards, /00002-of-00003/],
    ['a reranker', reranker, /reranker is a reranker.*Take an embedding model/],
    ['an LFS pointer', written('pointer.gguf', pointer), /LFS/],
    ['a text', written('text.gguf', 'Call me Ishmael.\n'), /GGUF/],
    ['a file that is not there', async () => join(folder, 'nowhere.gguf'), /nowhere\.gguf/],
  ])('%s: one line says so, and nothing is left', async (_, make, words) => {
    const modelPath = await make();
    const before = await remains();
    const events = await served({ modelPath });
    expect(events).toEqual([{ type: 'failed', message: expect.stringMatching(words) }]);
    expect(JSON.stringify(events)).not.toContain('\\n');
    expect(await remains()).toEqual(before);
    expect(room.lead.models.list()).toEqual([]);
  });

  it('a model that is too large for the room: the planner says so', async () => {
    const before = await remains();
    const [lead] = room.members;
    const events = await served({ modelPath: demoModelPath, members: lead === undefined ? [] : [lead] });
    expect(events).toEqual([{ type: 'failed', message: expect.stringMatching(/fit/) }]);
    expect(await remains()).toEqual(before);
  });

  it('a member that cannot be reached: it is named, and nothing is left', async () => {
    const before = await remains();
    const [lead, ...others] = room.members;
    const [gone] = others;
    if (lead === undefined || gone === undefined) throw new Error('no members');
    const members = [lead, { ...gone, address: '127.0.0.1:9' }];
    const events = await served({ modelPath: demoModelPath, members });
    expect(events).toEqual([{ type: 'failed', message: expect.stringContaining('127.0.0.1:9') }]);
    expect(await remains()).toEqual(before);
  });

  it('a client that leaves while the model comes up takes all of it back', async () => {
    const before = await remains();
    const gateway = { origin: room.lead.gateway, tokenFile: room.lead.tokenFile };
    const leave = new AbortController();
    const order = { modelPath: demoModelPath, members: room.members };
    const coming = (async () => {
      for await (const event of serveModel(gateway, order, leave.signal)) if (event.type === 'progress') leave.abort();
    })();
    await expect(coming).rejects.toThrow();
    await expect.poll(remains, { timeout: 30_000 }).toEqual(before);
    expect(room.lead.models.list()).toEqual([]);
  }, 60_000);

  it('afterwards the room serves what can be served', async () => {
    expect((await served({ modelPath: demoModelPath })).at(-1)).toMatchObject({ type: 'ready' });
  });
});
