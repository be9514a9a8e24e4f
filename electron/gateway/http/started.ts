import { setTimeout as delay } from 'node:timers/promises';

/**
 * Starts `source` and gives it `graceMs` to fail, so that what fails at once (a full queue) can still be answered with
 * its status. Then the iterable goes on as if it had not been started.
 */
export async function started<T>(source: AsyncIterable<T>, graceMs: number): Promise<AsyncIterable<T>> {
  const iterator = source[Symbol.asyncIterator]();
  const first = iterator.next();
  const grace = new AbortController();
  try {
    await Promise.race([first, delay(graceMs, undefined, { signal: grace.signal })]);
  } finally {
    grace.abort();
  }
  let next: Promise<IteratorResult<T>> | null = first;
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const result = next ?? iterator.next();
        next = null;
        return result;
      },
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }),
  };
}
