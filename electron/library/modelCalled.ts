import { basename } from 'node:path';
import { withoutQuantisation } from '../gguf/modelId.ts';
import { LibraryError } from './libraryError.ts';

/** Shortest beginning of a content id that is taken for one. */
const LEAST_PREFIX = 6;

/** By what a model is known. */
export interface Named {
  id: string;
  name: string;
  files: readonly { path: string }[];
}

/**
 * The model that is called so: by its content id or the beginning of one, its name with or without the quantisation, its
 * file's name or its path. Null where none is; throws LibraryError('Ambiguous') where several are.
 */
export function modelCalled<Model extends Named>(entries: readonly Model[], called: string): Model | null {
  const lower = called.toLowerCase();
  const ways: ((entry: Model) => boolean)[] = [
    ({ id }) => id === lower,
    ({ files }) => files.some(({ path }) => path === called),
    ({ name }) => name === lower,
    ({ files }) => files.some(({ path }) => basename(path) === called),
    ({ name }) => withoutQuantisation(name) === lower,
    ({ id }) => lower.length >= LEAST_PREFIX && id.startsWith(lower),
  ];
  for (const way of ways) {
    const [one, other] = entries.filter(way);
    if (one !== undefined && other === undefined) return one;
    if (one !== undefined) {
      const names = entries.filter(way).map(({ name, id }) => `${name} (${id.slice(0, 8)})`);
      throw new LibraryError('Ambiguous', `Several models are called ${called}: ${names.join(', ')}. Give the id.`);
    }
  }
  return null;
}
