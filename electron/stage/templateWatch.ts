/** The thread beside a template host's own: ends the process that outlives its parent or takes more memory than it may. */

/** Of the whole process, beyond what it begins with. */
const MOST_BYTES = 320 * 1024 * 1024;
const LOOK_MS = 50;

const parent = process.ppid;
const begun = process.memoryUsage.rss();

setInterval(() => {
  if (process.ppid !== parent || process.memoryUsage.rss() - begun > MOST_BYTES) process.kill(process.pid, 'SIGKILL');
}, LOOK_MS);
