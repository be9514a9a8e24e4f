import { join } from 'node:path';
import { z } from 'zod';
import { mannersSettingsSchema } from '../manners/mannersSettings.ts';
import { PoolError } from '../poolError.ts';
import { readPrivateFile, writePrivateFile } from '../privateFile.ts';

export const profileSettingsSchema = z.object({
  /** The owner has paused sharing. */
  paused: z.boolean().default(false),
  /** The owner wants this member to lead. */
  pinned: z.boolean().default(false),
  /** Bytes that the owner shares; null leaves it to what is free. */
  memoryBytes: z.number().int().positive().nullable().default(null),
  /** When sharing pauses by itself. */
  manners: mannersSettingsSchema.prefault({}),
});
/** What the owner of a machine decides about sharing it. */
export type ProfileSettings = z.infer<typeof profileSettingsSchema>;

/** The settings of a data folder (`sharing.json`), with defaults for those that are not set. */
export class ProfileSettingsFile {
  readonly #path: string;
  #current: ProfileSettings;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, settings: ProfileSettings) {
    this.#path = path;
    this.#current = settings;
  }

  /** Throws PoolError('DamagedFile') that names what is wrong. */
  static async open(home: string): Promise<ProfileSettingsFile> {
    const path = join(home, 'sharing.json');
    const text = (await readPrivateFile(path)) ?? '{}';
    try {
      return new ProfileSettingsFile(path, profileSettingsSchema.parse(JSON.parse(text)));
    } catch (cause) {
      const issue = cause instanceof z.ZodError ? cause.issues[0] : undefined;
      const what = issue === undefined ? 'it is no JSON' : `${issue.path.join('.')}: ${issue.message}`;
      throw new PoolError(
        'DamagedFile',
        `${path} cannot be used (${what}). Correct it, or remove it for the defaults.`,
        {
          cause,
        },
      );
    }
  }

  get current(): ProfileSettings {
    return this.#current;
  }

  /** Takes a change and resolves when it is on the disk. Throws a ZodError for values that are out of range. */
  async change(change: Partial<ProfileSettings>): Promise<void> {
    this.#current = profileSettingsSchema.parse({ ...this.#current, ...change });
    const text = `${JSON.stringify(this.#current, null, 2)}\n`;
    const write = (): Promise<void> => writePrivateFile(this.#path, text);
    this.#writing = this.#writing.then(write, write);
    await this.#writing;
  }
}
