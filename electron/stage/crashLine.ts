const TELLING = /assert|error|fail|abort|exception|fatal|out of memory/i;
/** What follows the reason: stack frames of Node and of ggml, and Node's own last line. */
const NOISE = /^\s*(at .*|#\d+ .*|\[New LWP.*|Node\.js v[\d.]+)$/;

/** The line of a dead process's stderr that says most of why it died; null when it was silent. */
export function crashLine(stderr: string): string | null {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !NOISE.test(line));
  return (lines.findLast((line) => TELLING.test(line)) ?? lines.at(-1))?.trim() ?? null;
}
