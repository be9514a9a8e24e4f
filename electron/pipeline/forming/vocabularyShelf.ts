import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openFileReader } from '../../gguf/rangeReader.ts';
import { readHeader } from '../../gguf/readHeader.ts';
import { textEmbedding } from '../../gguf/textEmbedding.ts';
import { summaryKeys } from '../../gguf/writeVocabulary.ts';
import type { Vocabulary } from '../../stage/engineClient.ts';
import type { EngineKeeper } from '../../stage/engineKeeper.ts';

/** What the gateway needs of a model beside its tokens, on this machine. */
export interface ModelText {
  readonly vocabulary: Vocabulary;
  /** `general.architecture`. */
  readonly architecture: string;
  /** `tokenizer.chat_template`, null where the model has none. */
  readonly chatTemplate: string | null;
  /** How many weights, and as what they are stored; null where nobody knows. */
  readonly parameters: number | null;
  readonly quantisation: string | null;
  /** Whether it turns texts into vectors and writes none. */
  readonly embedsOnly: boolean;
  /** `tokenizer.chat_template.tool_use`, null where the model has none. */
  readonly toolTemplate: string | null;
  /** The GGUF of metadata that it comes from. */
  readonly path: string;
}

interface Volume {
  text: Promise<ModelText>;
  users: number;
}

/**
 * The tokenizers of the models that this member serves or passes on, one for each model however many pipelines it has. A
 * request is tokenized where it comes in, so that it costs no round trip more than its tokens do.
 */
export class VocabularyShelf {
  readonly #engine: Pick<EngineKeeper, 'openVocabulary'>;
  readonly #folder: string;
  readonly #volumes = new Map<string, Volume>();
  #count = 0;

  /** `folder` is for files that live as long as somebody uses them. */
  constructor(engine: Pick<EngineKeeper, 'openVocabulary'>, folder: string) {
    this.#engine = engine;
    this.#folder = folder;
  }

  /**
   * Opens the tokenizer of a model (content id), with `write` to write its metadata where nobody has it open yet. To be given
   * back with `release`. Rejects where it cannot be had, and then there is nothing to give back.
   */
  async take(model: string, write: (path: string) => Promise<void>): Promise<ModelText> {
    const known = this.#volumes.get(model);
    const volume = known ?? { text: this.#open(model, write), users: 0 };
    this.#volumes.set(model, volume);
    volume.users += 1;
    try {
      return await volume.text;
    } catch (cause) {
      if (this.#volumes.get(model) === volume) this.#volumes.delete(model);
      throw cause;
    }
  }

  /** The last one to give it back closes it and removes its file. */
  async release(model: string): Promise<void> {
    const volume = this.#volumes.get(model);
    if (volume === undefined) return;
    volume.users -= 1;
    if (volume.users > 0) return;
    this.#volumes.delete(model);
    const { vocabulary, path } = await volume.text;
    try {
      await vocabulary.close();
    } finally {
      await rm(path, { force: true });
    }
  }

  async #open(model: string, write: (path: string) => Promise<void>): Promise<ModelText> {
    this.#count += 1;
    // What another member sends decides no path.
    const name = createHash('sha256').update(model).digest('hex').slice(0, 16);
    const path = join(this.#folder, `${name}-${this.#count}.gguf`);
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await write(path);
      const texts = await textsIn(path);
      return { vocabulary: await this.#engine.openVocabulary(path), ...texts, path };
    } catch (cause) {
      await rm(path, { force: true });
      throw cause;
    }
  }
}

async function textsIn(path: string): Promise<Omit<ModelText, 'vocabulary' | 'path'>> {
  const reader = await openFileReader(path);
  try {
    const { metadata } = await readHeader(reader);
    const text = (key: string): string | null => {
      const entry = metadata.get(key);
      return entry?.type === 'string' ? entry.value : null;
    };
    const architecture = text('general.architecture') ?? '';
    return {
      architecture,
      chatTemplate: text('tokenizer.chat_template'),
      toolTemplate: text('tokenizer.chat_template.tool_use'),
      parameters: Number(text(summaryKeys.parameters) ?? 0) || null,
      quantisation: text(summaryKeys.quantisation),
      embedsOnly: textEmbedding(metadata, architecture) !== null,
    };
  } finally {
    await reader.close();
  }
}
