import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readPrivateFile, writePrivateFile } from '../pool/privateFile.ts';
import { fileMarkSchema } from './fileMark.ts';
import { encodeModelHashes, type ModelHashes, modelHashesSchema } from './modelHashes.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const entrySchema = z.strictObject({
  id: sha256,
  name: z.string().min(1),
  title: z.string(),
  architecture: z.string(),
  parameters: z.number().nonnegative(),
  quantisation: z.string(),
  layers: z.int().positive(),
  contextLength: z.number().nonnegative().nullable(),
  hasChatTemplate: z.boolean(),
  embedsOnly: z.boolean().default(false),
  licence: z.string().nullable(),
  files: z.array(fileMarkSchema).min(1),
  origin: z.enum(['imported', 'folder', 'downloaded', 'dropped']),
  from: z.string().nullable(),
  /** Of its files, as the hub publishes them. */
  published: z.array(sha256).nullable(),
  addedAt: z.number(),
  /** Whether its table of hashes holds for the files as they are. */
  hashed: z.boolean(),
  /** Of some of its weights, which the id covers, see `sampleWeights`. */
  sample: sha256,
  /** Of all its weights, see `weightsId`; null before they have been hashed for the first time. */
  weights: sha256.nullable(),
  /** One plain line where its bytes are not what they were. */
  damage: z.string().nullable(),
});

/** What is kept of a model between runs. */
export type LibraryEntry = z.infer<typeof entrySchema>;

const librarySchema = z.strictObject({
  version: z.literal(2),
  models: z.array(entrySchema),
  /** Watched besides the one in the data folder. */
  folders: z.array(z.string().min(1)),
  /** Files in watched folders that were taken out of the library and stay out. */
  ignored: z.array(z.string().min(1)),
});

export type KeptLibrary = z.infer<typeof librarySchema>;

const nothing: KeptLibrary = { version: 2, models: [], folders: [], ignored: [] };

/** The library's files in a data folder: `library/library.json` and `library/hashes/CONTENT_ID.json`. */
export class LibraryFile {
  readonly #folder: string;

  constructor(home: string) {
    this.#folder = join(home, 'library');
  }

  /**
   * What was kept; empty where nothing was. A file that cannot be understood is put aside as `library.damaged.json`, and
   * `problem` says so: models can be imported again, a member that does not start helps nobody.
   */
  async read(): Promise<KeptLibrary & { problem: string | null }> {
    const path = join(this.#folder, 'library.json');
    const text = await readPrivateFile(path);
    const kept = text === null ? nothing : parsed(librarySchema, text);
    if (kept !== null) return { ...kept, problem: null };
    const aside = join(this.#folder, 'library.damaged.json');
    await rename(path, aside);
    return { ...nothing, problem: `The list of models was damaged and is now ${aside}. Import your models again.` };
  }

  async write(library: KeptLibrary): Promise<void> {
    await writePrivateFile(join(this.#folder, 'library.json'), JSON.stringify(library));
  }

  /** The table of a model; null where there is none that can be understood. */
  async readHashes(id: string): Promise<ModelHashes | null> {
    const text = await readPrivateFile(this.#hashes(id));
    const hashes = text === null ? null : parsed(modelHashesSchema, text);
    return hashes?.model === id ? hashes : null;
  }

  async writeHashes(hashes: ModelHashes): Promise<void> {
    await writePrivateFile(this.#hashes(hashes.model), encodeModelHashes(hashes));
  }

  async dropHashes(id: string): Promise<void> {
    await rm(this.#hashes(id), { force: true });
  }

  #hashes(id: string): string {
    return join(this.#folder, 'hashes', `${id}.json`);
  }
}

function parsed<T>(schema: z.ZodType<T>, text: string): T | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
