import { join } from 'node:path';
import { z } from 'zod';
import { readPrivateFile, writePrivateFile } from '../pool/privateFile.ts';
import { LibraryError } from './libraryError.ts';
import type { LibrarySettings } from './libraryState.ts';

const settingsSchema: z.ZodType<LibrarySettings> = z.strictObject({
  diskBytes: z.int().positive().nullable().default(null),
  bytesPerSecond: z.int().positive().nullable().default(null),
  loadedShare: z.number().min(0.01).max(1).default(0.1),
});

/** The settings of a data folder (`models.json`), with defaults for those that are not set. */
export class LibrarySettingsFile {
  readonly #path: string;
  #current: LibrarySettings;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, settings: LibrarySettings) {
    this.#path = path;
    this.#current = settings;
  }

  /** Throws LibraryError('DamagedLibrary') that names what is wrong. */
  static async open(home: string): Promise<LibrarySettingsFile> {
    const path = join(home, 'models.json');
    const text = (await readPrivateFile(path)) ?? '{}';
    try {
      return new LibrarySettingsFile(path, settingsSchema.parse(JSON.parse(text)));
    } catch (cause) {
      const issue = cause instanceof z.ZodError ? cause.issues[0] : undefined;
      const what = issue === undefined ? 'it is no JSON' : `${issue.path.join('.')}: ${issue.message}`;
      const message = `${path} cannot be used (${what}). Correct it, or remove it for the defaults.`;
      throw new LibraryError('DamagedLibrary', message, { cause });
    }
  }

  get current(): LibrarySettings {
    return this.#current;
  }

  /** Takes a change, which counts at once, and resolves when it is on the disk. Throws a ZodError for values out of range. */
  async change(change: { [K in keyof LibrarySettings]?: LibrarySettings[K] | undefined }): Promise<LibrarySettings> {
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    this.#current = settingsSchema.parse({ ...this.#current, ...given });
    const text = `${JSON.stringify(this.#current, null, 2)}\n`;
    const write = (): Promise<void> => writePrivateFile(this.#path, text);
    this.#writing = this.#writing.then(write, write);
    await this.#writing;
    return this.#current;
  }
}
