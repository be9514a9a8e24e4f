import { create } from 'zustand';
import { lineOf } from '../controls/lineOf.ts';
import { callMember } from '../member/memberStore.ts';
import { type DroppedModel, droppedModels } from './droppedModels.ts';
import { type FileHere, pathOfFile } from './pathOfFile.ts';

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
  /** Of the last drop, and of those during it; gone when they are cleared. */
  models: readonly AddedModel[];
}

export const useDrop = create<DropStore>()(() => ({ models: [] }));

let abort: AbortController | null = null;
const line: { index: number; model: DroppedModel<File> }[] = [];

/**
 * Takes dropped files in, one model after the other: the files of a set may come together, in any order, and are one model.
 * What is dropped meanwhile stands in line behind them.
 */
export async function takeFiles(files: readonly File[]): Promise<void> {
  const models = abort === null ? [] : useDrop.getState().models;
  const dropped = droppedModels(files);
  if (dropped.length === 0) return;
  line.push(...dropped.map((model, at) => ({ index: models.length + at, model })));
  useDrop.setState({ models: [...models, ...dropped.map(waiting)] });
  if (abort !== null) return;
  abort = new AbortController();
  for (let next = line.shift(); next !== undefined; next = line.shift()) await takeNext(next, abort.signal);
  abort = null;
}

async function takeNext({ index, model }: (typeof line)[number], signal: AbortSignal): Promise<void> {
  if (signal.aborted) return patch(index, { state: 'stopped' });
  patch(index, { state: 'copying' });
  try {
    await take(model, (bytes) => patch(index, { bytes }), signal);
    patch(index, { state: 'done' });
  } catch (cause) {
    patch(index, signal.aborted ? { state: 'stopped' } : { state: 'failed', problem: lineOf(cause) });
  }
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
  const here: FileHere[] = [];
  for (const file of files) {
    here.push(await pathOfFile(file, (bytes) => onCopied(before + bytes), signal));
    before += file.size;
    onCopied(before);
  }
  const copies = here.flatMap(({ path, isCopy }) => (isCopy ? [path] : []));
  await callMember('importModel', { path: here.at(-1)?.path ?? '', ...(copies.length > 0 && { copies }) });
}

function patch(index: number, changes: Partial<AddedModel>): void {
  useDrop.setState(({ models }) => ({
    models: models.map((model, at) => (at === index ? { ...model, ...changes } : model)),
  }));
}
