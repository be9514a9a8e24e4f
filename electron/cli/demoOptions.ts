import { InvalidArgumentError } from 'commander';

export interface DemoOptions {
  prompt: string;
  members: number;
  model?: string;
  exact?: boolean;
  maxTokens: number;
  temperature: number;
  exit?: boolean;
  json?: boolean;
}

const MOST_MEMBERS = 12;

/** Parses a whole number within [least, most] for commander. */
export function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`);
  };
}

export const parseMembers = wholeNumber(1, MOST_MEMBERS);
export const parseMaxTokens = wholeNumber(1, 1_000_000);

/** Parses a sampling temperature, 0 to 2 as OpenAI takes it. */
export function parseTemperature(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 2) return value;
  throw new InvalidArgumentError('Give a number from 0 to 2.');
}
