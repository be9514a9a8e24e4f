/** What the scheduler knows of one admitted sequence. Positions and lengths in tokens. */
export interface ScheduledSequence {
  /** Order of admission. */
  readonly id: number;
  /** Tokens in the log: the prompt and every committed token. */
  readonly length: number;
  /** Tokens of the log that were sent down the ring. */
  readonly sent: number;
  readonly promptLength: number;
  /** Number of the last step that carried it, -1 before the first. */
  readonly lastStep: number;
}

export interface ScheduleLimits {
  /** Most tokens of one prefill chunk. */
  readonly chunk: number;
  /** Prefill chunks that may be in flight while nothing decodes: enough to keep every stage busy. */
  readonly prefillInFlight: number;
}

/** Tokens [start, start + count) of one sequence, to be sent as a step of its own. */
export interface NextRun {
  readonly id: number;
  readonly start: number;
  readonly count: number;
  /** True when the run reaches the end of the log, so that the last stage samples the next token. */
  readonly sample: boolean;
}

/**
 * Decides which sequence travels next, or null when there is nothing to send until something returns. Decodes go first
 * and prefill chunks fill the gaps, so a long prompt stalls a running answer by one chunk at most: while any sequence
 * decodes only one chunk is in flight. Equals take turns: the one that travelled longest ago, then the oldest.
 *
 * One sequence per step: the arithmetic of a row then never depends on who else is being served.
 */
export function nextRun(
  sequences: Iterable<ScheduledSequence>,
  prefillChunksInFlight: number,
  limits: ScheduleLimits,
): NextRun | null {
  let decode: ScheduledSequence | null = null;
  let prefill: ScheduledSequence | null = null;
  let decoding = false;
  for (const sequence of sequences) {
    const prefilling = sequence.sent < sequence.promptLength;
    if (sequence.length > sequence.promptLength) decoding = true;
    if (sequence.sent >= sequence.length) continue;
    if (prefilling) {
      if (prefill === null || goesBefore(sequence, prefill)) prefill = sequence;
    } else if (decode === null || goesBefore(sequence, decode)) decode = sequence;
  }
  if (decode !== null) return runOf(decode, 1);
  const room = prefillChunksInFlight < (decoding ? 1 : limits.prefillInFlight);
  return prefill !== null && room ? runOf(prefill, limits.chunk) : null;
}

function goesBefore(a: ScheduledSequence, b: ScheduledSequence): boolean {
  return a.lastStep !== b.lastStep ? a.lastStep < b.lastStep : a.id < b.id;
}

function runOf(sequence: ScheduledSequence, most: number): NextRun {
  const count = Math.min(most, sequence.length - sequence.sent);
  const start = sequence.sent;
  return { id: sequence.id, start, count, sample: start + count === sequence.length };
}
