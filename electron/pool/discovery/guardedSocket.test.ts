import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '../testing/virtualClock.ts';
import { GuardedSocket } from './guardedSocket.ts';

let clock: VirtualClock;
let inner: Socket;
let guarded: GuardedSocket;
let taken: string[];
let accepted: boolean;

beforeEach(async () => {
  clock = new VirtualClock();
  inner = createSocket('udp4');
  inner.bind(0, '127.0.0.1');
  await once(inner, 'listening');
  taken = [];
  accepted = true;
  guarded = new GuardedSocket(inner, { now: () => clock.now(), accepts: () => accepted });
  guarded.on('message', (message: Buffer) => {
    taken.push(message.toString('latin1', 12));
    if (taken.at(-1) === 'throw') throw new Error('the library fell over it');
  });
});

afterEach(async () => {
  await new Promise<void>((resolve) => guarded.close(resolve));
});

/** A DNS message as its header says, with a text after it. */
function message(text: string, { questions = 1, answers = 0, additionals = 0 } = {}): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(questions, 4);
  header.writeUInt16BE(answers, 6);
  header.writeUInt16BE(additionals, 10);
  return Buffer.concat([header, Buffer.from(text)]);
}

/** Sends a packet to itself over loopback, and waits until it came. */
async function send(packet: Buffer): Promise<void> {
  const came = once(inner, 'message');
  guarded.send(packet, 0, packet.length, inner.address().port, '127.0.0.1', (error) => expect(error).toBeNull());
  await came;
}

test('what is no modest DNS message, or throws, is dropped', async () => {
  await send(Buffer.alloc(11));
  await send(message('many questions', { questions: 33 }));
  await send(message('many records', { answers: 100, additionals: 29 }));
  await send(message('throw'));
  await send(message('good', { questions: 32, answers: 100, additionals: 28 }));
  expect(taken).toEqual(['throw', 'good']);
  expect(guarded.dropped).toBe(4);
  accepted = false;
  await send(message('by another card'));
  expect(taken).toEqual(['throw', 'good']);
  expect(guarded.dropped).toBe(4);
});

test('a flood is dropped, and after it the usual amount is taken again', async () => {
  for (let n = 0; n < 230; n += 1) await send(message(`${n}`));
  expect(taken).toHaveLength(200);
  expect(guarded.dropped).toBe(30);
  await clock.advance(1000);
  for (let n = 0; n < 60; n += 1) await send(message(`${n}`));
  expect(taken).toHaveLength(250);
});

test('what could not be sent is remembered until something is', async () => {
  const larger = Buffer.alloc(70_000);
  const why = await new Promise((resolve) =>
    guarded.send(larger, 0, larger.length, inner.address().port, '127.0.0.1', resolve),
  );
  expect(why).toMatchObject({ code: 'EMSGSIZE' });
  expect(guarded.sendError).toBeInstanceOf(Error);
  await send(message('good'));
  expect(guarded.sendError).toBeNull();
});
