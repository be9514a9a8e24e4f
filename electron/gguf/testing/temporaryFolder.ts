import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for the files of one test file: `make` before all tests, `remove` after them. */
export function temporaryFolder() {
  let path = '';
  return {
    make: async () => {
      path = await mkdtemp(join(tmpdir(), 'roomful-gguf-'));
    },
    makeIn: (name: string) => mkdir(join(path, name), { recursive: true }),
    at: (name: string) => join(path, name),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}
