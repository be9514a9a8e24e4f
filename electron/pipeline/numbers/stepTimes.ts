import { channel } from 'node:diagnostics_channel';

/** Where the time of one step went that carried tokens of answers. */
export interface StepTimes {
  pipeline: string;
  rows: number;
  /** When it was sent and when it had come back, ms of `performance.now()`. */
  sentAt: number;
  returnedAt: number;
  /** Of each stage, ms: on its thread, and between its event loop and there. */
  stages: readonly { computeMs: number; queueMs: number }[];
}

/** Every step of every pipeline that this process drives, as a StepTimes, for whoever listens: Node's own channel costs nothing else. */
export const stepTimes = channel('roomful:step');
