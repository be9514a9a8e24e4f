import { expect, test } from 'vitest';
import { eventData } from './eventStream.ts';

function bodyOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function read(chunks: readonly Uint8Array[]): Promise<string[]> {
  const all: string[] = [];
  for await (const data of eventData(bodyOf(chunks))) all.push(data);
  return all;
}

const encode = (text: string) => new TextEncoder().encode(text);

test.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
])('events come whole wherever the chunks are cut, with %s', async (_name, end) => {
  const lines = [
    ': keep-alive',
    '',
    'data: {"a":"ü"}',
    '',
    'event: x',
    'data:two',
    'data: lines',
    '',
    'data: [DONE]',
    '',
    '',
  ];
  const bytes = encode(lines.join(end));
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(await read([bytes.slice(0, cut), bytes.slice(cut)])).toEqual(['{"a":"ü"}', 'two\nlines', '[DONE]']);
  }
  expect(await read([...bytes].map((byte) => Uint8Array.of(byte)))).toHaveLength(3);
});

test('an event that its body cuts off is dropped', async () => {
  expect(await read([encode('data: 1\n\ndata: 2\n')])).toEqual(['1']);
});

test('leaving the loop cancels the body', async () => {
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(encode('data: 1\n\n')),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const _data of eventData(endless)) break;
  expect(cancelled).toBe(true);
});
