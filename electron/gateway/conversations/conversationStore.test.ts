import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ChatMessage } from './conversation.ts';
import { ConversationStore } from './conversationStore.ts';

const ID = 'conversation-1';
let folder: string;
let now = 0;
let store: ConversationStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-conversations-'));
  now = 1000;
  store = reopened();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const reopened = () => new ConversationStore(folder, () => now++);
const message = (id: string, parent: string | null, content = `text of ${id}`): ChatMessage => ({
  id,
  parent,
  role: parent === null ? 'user' : 'assistant',
  content,
  createdAt: now++,
  answer: null,
});
const file = () => join(folder, `${ID}.jsonl`);

test('what was saved is there after a restart', async () => {
  await store.save(ID, { title: 'First' }, [message('a', null), message('b', 'a')]);
  await store.save(ID, { leaf: 'a' }, []);
  const conversation = await reopened().read(ID);
  expect(conversation).toMatchObject({ id: ID, title: 'First', messages: 2, leaf: 'a' });
  expect(conversation.history.map(({ id }) => id)).toEqual(['a', 'b']);
  expect(await reopened().list()).toEqual(await store.list());
});

test('nobody else can read the files', async () => {
  await store.save(ID, {}, [message('a', null)]);
  expect((await stat(file())).mode & 0o077).toBe(0);
});

test('a line that was torn by a crash is left out, and the next one begins anew', async () => {
  await store.save(ID, {}, [message('a', null)]);
  await appendFile(file(), '{"kind":"message","message":{"id":"b","par');
  store = reopened();
  expect((await store.read(ID)).messages).toBe(1);
  await store.save(ID, {}, [message('b', 'a')]);
  expect((await reopened().read(ID)).history.map(({ id }) => id)).toEqual(['a', 'b']);
});

test('saves at the same time come one after the other', async () => {
  await store.save(ID, {}, [message('a', null)]);
  await Promise.all(Array.from({ length: 20 }, (_, index) => store.save(ID, {}, [message(`m${index}`, 'a')])));
  expect((await store.read(ID)).messages).toBe(21);
});

test('a message twice, or without the one before it, is refused and nothing is written', async () => {
  await store.save(ID, {}, [message('a', null)]);
  const before = await readFile(file(), 'utf8');
  await expect(store.save(ID, {}, [message('a', null)])).rejects.toThrow('already');
  await expect(store.save(ID, {}, [message('c', 'gone')])).rejects.toThrow('lacks the message');
  expect(await readFile(file(), 'utf8')).toBe(before);
});

test('a damaged file is said when it is opened, and does not hide the others', async () => {
  await store.save(ID, {}, [message('a', null)]);
  await writeFile(join(folder, 'conversation-2.jsonl'), '{"kind":"message"}\n');
  await writeFile(join(folder, 'notes.txt'), 'mine');
  store = reopened();
  expect((await store.list()).map(({ id }) => id)).toEqual([ID]);
  await expect(store.read('conversation-2')).rejects.toThrow('damaged');
  await expect(store.read('conversation-3')).rejects.toThrow('not there');
});

test('the newest comes first, and what is deleted is gone', async () => {
  await store.save(ID, {}, [message('a', null)]);
  await store.save('conversation-2', {}, [message('a', null)]);
  expect((await store.list()).map(({ id }) => id)).toEqual(['conversation-2', ID]);
  await store.delete('conversation-2');
  expect((await store.list()).map(({ id }) => id)).toEqual([ID]);
  expect(await readdir(folder)).toEqual([`${ID}.jsonl`]);
});

test('search finds words in any case, with those around them', async () => {
  await store.save(ID, { title: 'Hops' }, [
    message('a', null, 'What is a hop?'),
    message('b', 'a', `${'x '.repeat(100)}A HOP is a trip of activations.`),
    message('c', 'b', 'thanks'),
  ]);
  const found = await store.search('a hop');
  expect(found.map(({ message: id }) => id)).toEqual(['a', 'b']);
  expect(found[1]?.excerpt).toMatch(/^….*A HOP is a trip/);
  expect(await store.search('  ')).toEqual([]);
});
