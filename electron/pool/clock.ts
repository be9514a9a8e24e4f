/** Time as a caller passes it in, so that decisions can be tested without waiting. */
export interface Clock {
  /** Ms, only their differences mean something; may stand still while the machine sleeps. */
  now(): number;
  /** Ms since 1970; jumps when the machine wakes or its clock is set. */
  wall(): number;
  /** Calls `run` once after `ms`; what it answers cancels that. */
  after(ms: number, run: () => void): () => void;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
