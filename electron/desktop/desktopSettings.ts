import { join } from 'node:path';
import { z } from 'zod';
import { KeptFile } from './keptFile.ts';

const keptSettingsSchema = z.object({
  notifications: z.boolean().default(true),
  /** Whether new versions are looked for. Off until somebody wants it, for it asks a server. */
  updates: z.boolean().default(false),
});
export type KeptSettings = z.infer<typeof keptSettingsSchema>;

/** What the shell keeps in `desktop.json` of the data folder; defaults where that cannot be read. */
export class DesktopSettingsFile {
  readonly #file: KeptFile<KeptSettings>;
  readonly #onChange: (settings: KeptSettings) => void;
  #current: KeptSettings;

  private constructor(file: KeptFile<KeptSettings>, current: KeptSettings, onChange: (now: KeptSettings) => void) {
    this.#file = file;
    this.#current = current;
    this.#onChange = onChange;
  }

  static async open(home: string, onChange: (now: KeptSettings) => void): Promise<DesktopSettingsFile> {
    const file = new KeptFile(join(home, 'desktop.json'), keptSettingsSchema);
    return new DesktopSettingsFile(file, (await file.read()) ?? keptSettingsSchema.parse({}), onChange);
  }

  get current(): KeptSettings {
    return this.#current;
  }

  /** Takes effect at once; resolves when it is on the disk. */
  async change(change: Partial<KeptSettings>): Promise<void> {
    this.#current = { ...this.#current, ...change };
    this.#onChange(this.#current);
    await this.#file.write(this.#current);
  }
}
