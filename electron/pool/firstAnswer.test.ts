import { expect, test } from 'vitest';
import { firstAnswer } from './firstAnswer.ts';

const never = new AbortController().signal;

test('the first address that answers wins, the others are given up and what they bring late is discarded', async () => {
  let arrive: (answer: string) => void = () => {};
  const late = new Promise<string>((resolve) => {
    arrive = resolve;
  });
  const given: string[] = [];
  const dial = (address: string, signal: AbortSignal): Promise<string> => {
    signal.addEventListener('abort', () => given.push(address));
    return address === 'slow' ? late : Promise.resolve(address);
  };
  const discarded: string[] = [];
  const options = { signal: never, discard: (answer: string) => discarded.push(answer) };
  expect(await firstAnswer(['slow', 'quick', 'unused'], dial, options)).toBe('quick');
  expect(given).toEqual(['slow', 'quick']);
  arrive('too late');
  await expect.poll(() => discarded).toEqual(['too late']);
});

test('one that fails makes room for the next at once, and the last failure is told', async () => {
  const dialled: string[] = [];
  const dial = (address: string): Promise<string> => {
    dialled.push(address);
    return Promise.reject(new Error(address));
  };
  const dialling = firstAnswer(['a', 'b', 'c'], dial, { signal: never, discard: () => {} });
  await expect(dialling).rejects.toThrow('c');
  expect(dialled).toEqual(['a', 'b', 'c']);
  await expect(firstAnswer([], dial, { signal: never, discard: () => {} })).rejects.toThrow('no address');
});

test('giving up ends every dial', async () => {
  const controller = new AbortController();
  const signals: AbortSignal[] = [];
  const dial = (_address: string, signal: AbortSignal): Promise<string> => {
    signals.push(signal);
    return new Promise(() => {});
  };
  const dialling = firstAnswer(['a', 'b'], dial, { signal: controller.signal, discard: () => {} });
  controller.abort(new Error('enough'));
  await expect(dialling).rejects.toThrow('enough');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
