/** How often the parent is looked for, ms. */
const INTERVAL_MS = 250;

/**
 * Calls `onOrphaned` once when the process that started this one is gone, so that killing `npm` or a shell script that
 * runs the demo ends the demo too. Holds nothing open.
 */
export function exitWithParent(onOrphaned: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onOrphaned();
  }, INTERVAL_MS);
  timer.unref();
}
