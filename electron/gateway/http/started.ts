/**
 * Starts `source` and gives it `graceMs` to fail, so that what fails at once (a full queue) can still be answered with
 * its status; `goes` is called by it where it is sure sooner. Then the iterable goes on as if it had not been started.
 */
export async function started<T>(
  source: (goes: () => void) => AsyncIterable<T>,
  graceMs: number,
): Promise<AsyncIterable<T>> {
  let goes: () => void = () => {};
  const sure = new Promise<void>((resolve) => {
    goes = resolve;
  });
  const iterator = source(goes)[Symbol.asyncIterator]();
  const first = iterator.next();
  const grace = setTimeout(goes, graceMs);
  try {
    await Promise.race([first, sure]);
  } finally {
    clearTimeout(grace);
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
