import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** Parses an amount of memory for commander, such as `8GB`, `7.5 GiB`, or plain bytes. */
export function parseBytes(text: string): number {
  const [, number = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text) ?? [];
  const bytes = Math.round(Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN));
  if (number !== '' && bytes >= 1 && Number.isSafeInteger(bytes)) return bytes;
  throw new InvalidArgumentError('Give an amount such as 8GB or 512MiB.');
}
