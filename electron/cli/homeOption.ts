import { resolve } from 'node:path';
import { Option } from 'commander';
import { dataFolder } from '../pool/dataFolder.ts';

export function homeOption(): Option {
  return new Option('--home <folder>', 'data folder of the member; ROOMFUL_HOME and then the place of the system else');
}

/** The data folder that a command means. */
export function homeOf({ home }: { home?: string }): string {
  return home === undefined ? dataFolder() : resolve(home);
}
