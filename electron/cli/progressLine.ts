/** Where progress is shown: a terminal, or anything that takes lines. */
export interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

const BAR_CELLS = 24;
/** Between two lines where there is no terminal, in hundredths of the whole. */
const LINE_STEP = 10;

/** One line of progress: redrawn in place on a terminal, elsewhere a line at every tenth and every new label. */
export class ProgressLine {
  readonly #stream: ProgressStream;
  #label = '';
  #step = -1;
  #isDrawn = false;

  constructor(stream: ProgressStream) {
    this.#stream = stream;
  }

  /** `fraction` is 0 to 1, or null where it is not known. */
  show(label: string, fraction: number | null, detail = ''): void {
    // Rounded up a little, as 0.29 times 100 is less than 29.
    const hundredths = fraction === null ? 0 : Math.floor(fraction * 100 + 1e-9);
    const percent = fraction === null ? '' : `${hundredths}%`;
    if (this.#stream.isTTY) {
      const line = [label, fraction === null ? '' : bar(fraction), percent, detail].filter(Boolean).join('  ');
      this.#stream.write(`\r\u001b[2K${line.slice(0, Math.max(20, (this.#stream.columns ?? 80) - 1))}`);
      this.#isDrawn = true;
      return;
    }
    const step = Math.floor(hundredths / LINE_STEP);
    if (label === this.#label && step <= this.#step) return;
    this.#label = label;
    this.#step = step;
    this.#stream.write(`${[label, percent, detail].filter(Boolean).join('  ')}\n`);
  }

  /** Takes the line away, so that what follows has one of its own. */
  clear(): void {
    if (this.#isDrawn) this.#stream.write('\r\u001b[2K');
    this.#isDrawn = false;
  }
}

function bar(fraction: number): string {
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * BAR_CELLS);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}]`;
}
