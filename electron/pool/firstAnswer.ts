/** Head start that an address gets before the next one is tried too, ms. */
const STAGGER_MS = 150;

/**
 * Dials addresses, one a little after the other, or at once when one fails, until the first answers; the others are given
 * up, and what they still bring is discarded. Rejects with the last error when none does.
 */
export function firstAnswer<T>(
  addresses: readonly string[],
  dial: (address: string, signal: AbortSignal) => Promise<T>,
  { signal, discard }: { signal: AbortSignal; discard: (late: T) => void },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = new AbortController();
    const waiting = [...addresses];
    let open = 0;
    let done = false;
    let timer: NodeJS.Timeout | undefined;
    let last: unknown = new Error('There is no address to dial.');
    const finish = (settle: () => void): void => {
      done = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      giveUp.abort();
      settle();
    };
    const abort = (): void => {
      if (!done) finish(() => reject(signal.reason));
    };
    const next = (): void => {
      if (done) return;
      clearTimeout(timer);
      const address = waiting.shift();
      if (address === undefined) {
        if (open === 0) finish(() => reject(last));
        return;
      }
      open += 1;
      timer = setTimeout(next, STAGGER_MS);
      dial(address, giveUp.signal).then(
        (answer) => {
          if (done) discard(answer);
          else finish(() => resolve(answer));
        },
        (cause: unknown) => {
          open -= 1;
          last = cause;
          next();
        },
      );
    };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else next();
  });
}
