import { type DraftModel, type DraftModelOptions, EngineClient, type Vocabulary } from './engineClient.ts';
import { HostError } from './hostError.ts';
import type { HostLauncher } from './hostLauncher.ts';

/**
 * The engine host of a member, started anew when it is needed again after a loss; a vocabulary that was open is opened
 * there again. So a crash costs one call a moment and no model its tokenizer.
 */
export class EngineKeeper {
  readonly #launcher: HostLauncher;
  readonly #onLost: (error: HostError) => void;
  #engine: Promise<EngineClient> | null = null;

  private constructor(launcher: HostLauncher, onLost: (error: HostError) => void) {
    this.#launcher = launcher;
    this.#onLost = onLost;
  }

  /** Starts the process. Rejects with a HostError, and then nothing is left running. */
  static async start(launcher: HostLauncher, onLost: (error: HostError) => void): Promise<EngineKeeper> {
    const keeper = new EngineKeeper(launcher, onLost);
    await keeper.current();
    return keeper;
  }

  /** The process that lives now. */
  current(): Promise<EngineClient> {
    if (this.#engine !== null) return this.#engine;
    const forget = (): void => {
      if (this.#engine === engine) this.#engine = null;
    };
    const engine = EngineClient.start(this.#launcher, (error) => {
      forget();
      this.#onLost(error);
    });
    engine.catch(forget);
    this.#engine = engine;
    return engine;
  }

  /** Opens the tokenizer of a GGUF, which must stay where it is until the vocabulary is closed. */
  async openVocabulary(path: string): Promise<Vocabulary> {
    let engine = await this.current();
    let opened = await engine.openVocabulary(path);
    const ask = async <Answer>(question: (vocabulary: Vocabulary) => Promise<Answer>): Promise<Answer> => {
      const now = await this.current();
      if (now !== engine) {
        opened = await now.openVocabulary(path);
        engine = now;
      }
      return question(opened);
    };
    return {
      ...opened,
      tokenize: (text, options) => {
        const question = (vocabulary: Vocabulary) => vocabulary.tokenize(text, options);
        return ask(question).catch((error: unknown) => {
          if (isLoss(error)) return ask(question);
          throw error;
        });
      },
      // Not asked again: a grammar that ends one process would end the next.
      grammarProblem: (grammar) => ask((vocabulary) => vocabulary.grammarProblem(grammar)),
      close: () => closeUnlessLost(opened),
    };
  }

  /** Loads a draft model; with a new process it is loaded anew, with no memory of what it was told. */
  async openDraft(options: DraftModelOptions): Promise<DraftModel> {
    const engine = await this.current();
    let current = { engine, opened: engine.openDraft(options) };
    await current.opened;
    let closed = false;
    const opened = async (): Promise<DraftModel> => {
      if (closed) throw new HostError('HostClosed', 'The draft model has been closed.');
      const now = await this.current();
      // Whoever asks meanwhile waits for the same load.
      if (now !== current.engine) current = { engine: now, opened: now.openDraft(options) };
      return current.opened;
    };
    return {
      draft: async (request) => (await opened()).draft(request),
      close: async () => {
        closed = true;
        // What could not be loaded is not there.
        const last = await current.opened.catch(() => null);
        if (last !== null) await closeUnlessLost(last);
      },
    };
  }

  async close(): Promise<void> {
    const engine = await this.#engine?.catch(() => null);
    await engine?.close();
  }
}

/** What was opened is gone with its process by itself. */
async function closeUnlessLost(opened: { close(): Promise<void> }): Promise<void> {
  await opened.close().catch((error: unknown) => {
    if (!isLoss(error)) throw error;
  });
}

function isLoss(error: unknown): boolean {
  return error instanceof HostError && error.kind !== 'HostRefused';
}
