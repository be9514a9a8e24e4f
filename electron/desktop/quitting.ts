import { app } from 'electron';

export interface QuittingOptions {
  /** Asks whoever wants to quit; false where they had better not. */
  ask(): Promise<boolean>;
  /** Ends everything that was started. */
  end(): Promise<void>;
}

const DEADLINE_MS = 8_000;

/** The end of the app: asked for where something would be lost, then whole, with every child that it has started. */
export class Quitting {
  readonly #options: QuittingOptions;
  #state: 'no' | 'asking' | 'yes' = 'no';
  #shutsDown = false;

  constructor(options: QuittingOptions) {
    this.#options = options;
    app.on('before-quit', (event) => {
      // On macOS it would call off the logout that has begun.
      if (this.#shutsDown) return;
      event.preventDefault();
      this.#ask().catch(() => this.now());
    });
  }

  /** Whether it is decided. */
  get isDecided(): boolean {
    return this.#state === 'yes';
  }

  /** The machine is shut down, or its user logs out: ends without a question, and as far as the system's patience goes. */
  shutDown(): void {
    this.#shutsDown = true;
    this.now();
  }

  /** Ends without a question: there is nobody to ask. */
  now(code: 0 | 1 = 0): void {
    if (this.#state === 'yes') return;
    this.#state = 'yes';
    // The hosts end by themselves when it takes too long.
    withDeadline(this.#options.end()).then(
      () => app.exit(code),
      () => app.exit(1),
    );
  }

  async #ask(): Promise<void> {
    if (this.#state !== 'no') return;
    this.#state = 'asking';
    const agreed = await this.#options.ask();
    if (this.#state !== 'asking') return;
    this.#state = 'no';
    if (agreed) this.now();
  }
}

async function withDeadline(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('The member did not end in time.')), DEADLINE_MS);
  });
  try {
    await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
