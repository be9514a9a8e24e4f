import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** How a member, which stands in another folder, knows the model of an argument: a file by its whole path, else as given. */
export function modelArgument(given: string): string {
  return /^\.{1,2}[/\\]/.test(given) || existsSync(given) ? resolve(given) : given;
}
