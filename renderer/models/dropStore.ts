import { create } from 'zustand';
import { lineOf } from '../controls/lineOf.ts';
import { callMember } from '../member/memberStore.ts';
import { type DroppedModel, droppedModels } from './droppedModels.ts';
import { pathOfFile } from './pathOfFile.ts';

/** A model that was dropped and is being taken in. */
export interface AddedModel {
  name: string;
  /** How many were dropped, and which of its set were not. */
  files: number;
  missing: readonly string[];
  /** Bytes that were copied, of all. */
  bytes: number;
  totalBytes: number;
  state: 'waiting' | 'copying' | 'done' | 'failed' | 'stopped';
  /** One plain line where it has failed. */
  problem: string | null;
}

interface DropStore {
  /** Of the last drop; gone when it is cleared. */
  models: readonly AddedModel[];
}

export const useDrop = create<DropStore>()(() => ({ models: [] }));

let abort: AbortController | null = null;

/** Takes dropped files in, one after the other: the files of a set may come together, in any order, and are one model. */
export async function takeFiles(files: readonly File[]): Promise<void> {
  if (abort !== null || files.length === 0) return;
  const mine = new AbortController();
  abort = mine;
  const dropped = droppedModels(files);
  useDrop.setState({ models: dropped.map(waiting) });
  for (const [index, model] of dropped.entries()) {
    if (mine.signal.aborted) {
      patch(index, { state: 'stopped' });
      continue;
    }
    patch(index, { state: 'copying' });
    try {
      await take(model, (bytes) => patch(index, { bytes }), mine.signal);
      patch(index, { state: 'done' });
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
  if (abort === null) useDrop.setState({ models: [] });
}

function waiting({ name, files, missing }: DroppedModel<File>): AddedModel {
  const totalBytes = files.reduce((sum, { size }) => sum + size, 0);
  return { name, files: files.length, missing, bytes: 0, totalBytes, state: 'waiting', problem: null };
}

async function take(
  { files }: DroppedModel<File>,
  onCopied: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  let before = 0;
  let path = '';
  for (const file of files) {
    path = await pathOfFile(file, (bytes) => onCopied(before + bytes), signal);
    before += file.size;
    onCopied(before);
  }
  await callMember('importModel', { path });
}

function patch(index: number, changes: Partial<AddedModel>): void {
  useDrop.setState(({ models }) => ({
    models: models.map((model, at) => (at === index ? { ...model, ...changes } : model)),
  }));
}
