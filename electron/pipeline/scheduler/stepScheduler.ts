import { evenSize } from './groupSize.ts';

/** What the scheduler knows of one admitted sequence. Positions and lengths in tokens. */
export interface ScheduledSequence {
  /** Order of admission. */
  readonly id: number;
  /** Where its KV lies; stages compute neighbours together. */
  readonly slot: number;
  /** Tokens in the log: the prompt and every committed token. */
  readonly length: number;
  /** Tokens that were sent down the ring, drafts under verification counted in. */
  readonly sent: number;
  readonly promptLength: number;
  /** Number of the last step that carried it, -1 before the first. */
  readonly lastStep: number;
  /** Nobody waits for every token of it; interactive requests go first. */
  readonly bulk: boolean;
  /** Its drafts are still being made; it travels when they are there. */
  readonly drafting: boolean;
  /** Drafts that may travel on top of those that are being verified. */
  readonly ahead: number;
  /** Another is sent first whose prompt begins alike. */
  readonly waits: boolean;
}

/** Steps that have not come back. */
export interface InFlight {
  readonly prefill: number;
  readonly decode: number;
  /** Number of the next step. */
  readonly nextStep: number;
}

export interface ScheduleLimits {
  /** Of the ring. */
  readonly stages: number;
  /** Most tokens of one prefill chunk of a prompt of so many. */
  readonly chunk: (promptLength: number) => number;
  /** Prefill chunks that may be in flight while nothing decodes: enough to keep every stage busy. */
  readonly prefillInFlight: number;
  /** Rows of a step that whole texts share, as many as fit; 0 where prompts travel alone. */
  readonly sharedRows: number;
  /** How many of so many decoding sequences share a step; see `groupSize`. */
  readonly groupSize: (active: number) => number;
}

/** Tokens [start, start + count) of one sequence; its drafts follow them. */
export interface NextRun {
  readonly id: number;
  readonly start: number;
  /** 0 where drafts travel on top of those that are being verified. */
  readonly count: number;
  /** True when the run reaches the end of the log, so that the last stage samples the next token. */
  readonly sample: boolean;
}

export interface NextStep {
  readonly runs: readonly NextRun[];
  readonly kind: 'prefill' | 'decode' | 'ahead';
}

/** A bulk sequence that has waited for so many steps goes as if it were interactive. */
const PATIENCE_STEPS = 64;

/**
 * Decides what travels next, or null when there is nothing to send until something returns.
 *
 * Decodes go first, in groups of neighbouring slots that keep as many steps in flight as there are groups: a group travels when
 * all of it is ready, else without those that make drafts or guess ahead, and a part that others will join in a moment only
 * where a stage would have nothing to do, so that sequences that met by chance are parted again. Prefill chunks fill the gaps,
 * each a step of its own, so a long prompt stalls a running answer by one chunk at most: while any sequence decodes only one
 * chunk is in flight. Interactive requests go before bulk ones, equals take turns: the one that travelled longest ago, then
 * the oldest. Drafts on top of others that are being verified may be for nothing, so they go alone, when nothing else can.
 */
export function nextStep(
  sequences: Iterable<ScheduledSequence>,
  inFlight: InFlight,
  limits: ScheduleLimits,
): NextStep | null {
  const ready: ScheduledSequence[] = [];
  const whole: ScheduledSequence[] = [];
  let prefill: ScheduledSequence | null = null;
  let ahead: ScheduledSequence | null = null;
  const decoding: ScheduledSequence[] = [];
  const goesBefore = orderAt(inFlight.nextStep);
  for (const sequence of sequences) {
    const isPrefill = sequence.sent < sequence.promptLength;
    if (sequence.length > sequence.promptLength) decoding.push(sequence);
    if (sequence.sent >= sequence.length) {
      if (sequence.ahead > 0 && (ahead === null || goesBefore(sequence, ahead) < 0)) ahead = sequence;
    } else if (isPrefill) {
      if (sequence.waits) continue;
      if (limits.sharedRows > 0) whole.push(sequence);
      if (prefill === null || goesBefore(sequence, prefill) < 0) prefill = sequence;
    } else if (!sequence.drafting) ready.push(sequence);
  }
  if (ready.length > 0) {
    ready.sort(goesBefore);
    // One whose prompt is computed anew has no token to send for long.
    const able = decoding.filter(({ sent, promptLength }) => sent >= promptLength);
    const groups = groupsOf(able, Math.max(1, limits.groupSize(able.length)));
    const due = ready.flatMap((sequence) => groups.filter((group) => group.includes(sequence)));
    const isReady = new Set(ready);
    const isWhole = (group: ScheduledSequence[]): boolean => group.every((each) => isReady.has(each));
    const isAwaited = ({ sent, length, drafting }: ScheduledSequence): boolean => sent === length && !drafting;
    const group =
      due.find((each) => isWhole(each) || (inFlight.decode < groups.length && !each.some(isAwaited))) ??
      (inFlight.decode < Math.min(groups.length, limits.stages) ? due[0] : undefined);
    if (group !== undefined) {
      const runs = ready.filter((sequence) => group.includes(sequence)).map((sequence) => runOf(sequence, 1));
      return { runs, kind: 'decode' };
    }
  }
  const room = inFlight.prefill < (decoding.length > 0 ? 1 : limits.prefillInFlight);
  if (prefill !== null && room) {
    const texts = whole.sort(goesBefore);
    const runs =
      texts.length > 0
        ? fitting(texts, limits.sharedRows).map((sequence) => runOf(sequence, sequence.length))
        : [runOf(prefill, limits.chunk(prefill.promptLength))];
    return { runs, kind: 'prefill' };
  }
  return ahead === null ? null : { runs: [{ id: ahead.id, start: ahead.sent, count: 0, sample: true }], kind: 'ahead' };
}

/** Neighbours by slot, as few groups as hold them at `most` each, of about equal size. */
function groupsOf(decoding: readonly ScheduledSequence[], most: number): ScheduledSequence[][] {
  const bySlot = [...decoding].sort((a, b) => a.slot - b.slot);
  const size = evenSize(bySlot.length, most);
  return Array.from({ length: Math.ceil(bySlot.length / size) }, (_, index) =>
    bySlot.slice(index * size, (index + 1) * size),
  );
}

/** From the first on, as many whole texts as fit into so many rows; at least one. */
function fitting(texts: readonly ScheduledSequence[], rows: number): ScheduledSequence[] {
  let left = rows;
  return texts.filter(({ length }, index) => {
    if (index > 0 && length > left) return false;
    left -= length;
    return true;
  });
}

function orderAt(step: number): (a: ScheduledSequence, b: ScheduledSequence) => number {
  const waits = ({ bulk, lastStep }: ScheduledSequence): boolean => bulk && step - lastStep < PATIENCE_STEPS;
  return (a, b) => Number(waits(a)) - Number(waits(b)) || a.lastStep - b.lastStep || a.id - b.id;
}

/** The next tokens of a sequence, `most` at most. */
export function runOf(sequence: ScheduledSequence, most: number): NextRun {
  const count = Math.min(most, sequence.length - sequence.sent);
  const start = sequence.sent;
  return { id: sequence.id, start, count, sample: start + count === sequence.length };
}
