import { create } from 'zustand';
import { lineOf } from '../controls/lineOf.ts';
import { type AddedFile, addFile } from './addFiles.ts';
import { completesSet } from './completesSet.ts';

interface DropStore {
  /** Of the last drop; gone when it is cleared. */
  files: readonly AddedFile[];
}

export const useDrop = create<DropStore>()(() => ({ files: [] }));

let abort: AbortController | null = null;

/** Takes dropped files in, one after the other: the files of a set may come together, in any order. */
export async function takeFiles(files: readonly File[]): Promise<void> {
  if (abort !== null || files.length === 0) return;
  const mine = new AbortController();
  abort = mine;
  useDrop.setState({
    files: files.map(({ name, size }) => ({ name, bytes: 0, totalBytes: size, state: 'waiting', problem: null })),
  });
  const names = files.map(({ name }) => name);
  for (const [index, file] of files.entries()) {
    if (mine.signal.aborted) {
      patch(index, { state: 'stopped' });
      continue;
    }
    patch(index, { state: 'copying' });
    try {
      await addFile(file, completesSet(names, index), (bytes) => patch(index, { bytes }), mine.signal);
      patch(index, { state: 'done', bytes: file.size });
    } catch (cause) {
      patch(index, mine.signal.aborted ? { state: 'stopped' } : { state: 'failed', problem: lineOf(cause) });
    }
  }
  abort = null;
}

/** Ends the copy under way and those that wait; what was copied of it is removed. */
export function stopTaking(): void {
  abort?.abort();
}

export function clearDrop(): void {
  if (abort === null) useDrop.setState({ files: [] });
}

function patch(index: number, changes: Partial<AddedFile>): void {
  useDrop.setState(({ files }) => ({
    files: files.map((file, at) => (at === index ? { ...file, ...changes } : file)),
  }));
}
