import { z } from 'zod';

/** A line of the log, for people. */
export interface LogLine {
  /** `21:14:03`, empty where the line does not say. */
  time: string;
  level: 'info' | 'warn' | 'error';
  text: string;
}

/** What pino writes, of which other fields are left out. */
const record = z.object({
  level: z.number(),
  time: z.number(),
  msg: z.string().optional(),
  err: z.object({ message: z.string() }).optional(),
});

/** Reads one line; what is not of the log's form is shown as it is. */
export function logLine(line: string): LogLine {
  const parsed = record.safeParse(parseJson(line));
  if (!parsed.success) return { time: '', level: 'info', text: line };
  const { level, time, msg = '', err } = parsed.data;
  return {
    time: new Date(time).toTimeString().slice(0, 8),
    level: level >= 50 ? 'error' : level >= 40 ? 'warn' : 'info',
    text: err === undefined ? msg : `${msg}: ${err.message}`,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
