import { writeSync } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { addSpan, type Span, spanBytes } from './spans.ts';

/** What of a stage's files has been written. */
export interface TransferState {
  /** Whether everything that is no tensor lies there. */
  hasFixed: boolean;
  /** What of each tensor lies there, by the unit's index. */
  written: Map<number, Span[]>;
  /** SHA-256 in hex of each tensor that has been checked, by the unit's index. */
  verified: Map<number, string>;
}

/**
 * Notes what has been written to a stage's unfinished files, at once after it was written: one line for each piece. A process
 * that is killed loses only pieces that were being written. Lines are so short that waiting for another thread to write
 * them would take longer than writing them here, and would leave more to lose. A machine that goes down may have noted what its disk never
 * got, so after one (`bootId` tells) tensors are checked again; their hashes find what is missing.
 */
export class TransferJournal {
  readonly state: TransferState;
  readonly #file: FileHandle;
  #writtenBytes: number;

  private constructor(state: TransferState, file: FileHandle) {
    this.state = state;
    this.#file = file;
    this.#writtenBytes = [...state.written.values()].reduce((sum, spans) => sum + spanBytes(spans), 0);
  }

  /** Of all tensors; kept as they come, because it is asked for with every piece and there may be many thousand tensors. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Goes on with what is at `path` where it is about the same files (`digest`), else begins anew. */
  static async open(path: string, digest: string, bootId: string): Promise<TransferJournal> {
    const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return '';
      throw cause;
    });
    const state = parseJournal(text, digest, bootId);
    const file = await open(path, state === null ? 'w' : 'a', 0o600);
    const journal = new TransferJournal(state ?? emptyTransfer(), file);
    // A line that was cut off must not run into the next one, and later checks are of this start of the machine.
    if (state === null) await file.appendFile(`roomful ${digest} ${bootId}\n`);
    else await file.appendFile(`\nboot ${bootId}\n`);
    return journal;
  }

  fixed(): void {
    this.state.hasFixed = true;
    this.#note('f');
  }

  wrote(unit: number, span: Span): void {
    const before = this.state.written.get(unit) ?? [];
    const after = addSpan(before, span);
    this.state.written.set(unit, after);
    this.#writtenBytes += spanBytes(after) - spanBytes(before);
    this.#note(`w ${unit} ${span.from} ${span.to}`);
  }

  verified(unit: number, sha256: string): void {
    this.state.verified.set(unit, sha256);
    this.#note(`v ${unit} ${sha256}`);
  }

  /** The tensor is not what it should be; nothing of it counts. */
  damaged(unit: number): void {
    this.#writtenBytes -= spanBytes(this.state.written.get(unit) ?? []);
    this.state.written.delete(unit);
    this.state.verified.delete(unit);
    this.#note(`x ${unit}`);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #note(line: string): void {
    writeSync(this.#file.fd, `${line}\n`);
  }
}

export function emptyTransfer(): TransferState {
  return { hasFixed: false, written: new Map(), verified: new Map() };
}

/** Null where the text is no journal of these files. Lines that are not whole are left out. */
export function parseJournal(text: string, digest: string, bootId: string): TransferState | null {
  const [first = '', ...lines] = text.split('\n');
  const head = /^roomful ([0-9a-f]{64}) (\S+)$/.exec(first);
  if (head === null || head[1] !== digest || lines.length === 0) return null;
  const state = emptyTransfer();
  let boot = head[2];
  // What follows the last line break was cut off.
  for (const line of lines.slice(0, -1)) {
    const [kind, ...words] = line.split(' ');
    const [unit = Number.NaN, from = Number.NaN, to = Number.NaN] = words.map(Number);
    if (kind === 'boot') boot = words[0];
    else if (kind === 'f') state.hasFixed = boot === bootId;
    else if (kind === 'x') {
      state.written.delete(unit);
      state.verified.delete(unit);
    } else if (kind === 'w' && Number.isSafeInteger(unit) && Number.isSafeInteger(from) && Number.isSafeInteger(to)) {
      state.written.set(unit, addSpan(state.written.get(unit) ?? [], { from, to }));
    } else if (kind === 'v' && boot === bootId && /^[0-9a-f]{64}$/.test(words[1] ?? '')) {
      state.verified.set(unit, words[1] ?? '');
    }
  }
  return state;
}
