import { z } from 'zod';
import { forces, kvTypes } from '../../planner/planOptions.ts';
import { readPrivateFile, writePrivateFile } from '../../pool/privateFile.ts';
import type { ServeRequest } from './serveEvents.ts';

/** A model that this member was asked to serve and that nobody has stopped since. */
export interface KeptServe {
  /** What clients call it. */
  modelId: string;
  request: ServeRequest;
  /** Ids of the members that it ran on. */
  members: readonly string[];
}

const requestSchema: z.ZodType<ServeRequest> = z.strictObject({
  model: z.string(),
  members: z.array(z.union([z.string(), z.strictObject({ address: z.string(), id: z.string() })])).optional(),
  force: z.enum(forces).optional(),
  contextLength: z.int().optional(),
  slots: z.int().optional(),
  replicas: z.int().optional(),
  kvType: z.enum(kvTypes).optional(),
  draft: z.string().optional(),
  mostDrafts: z.int().optional(),
  exact: z.boolean().optional(),
  aliases: z.array(z.string()).optional(),
});
const fileSchema = z.strictObject({
  version: z.literal(1),
  serves: z.array(z.strictObject({ modelId: z.string(), request: requestSchema, members: z.array(z.string()) })),
});

/** What this member was asked to serve, kept over restarts until somebody stops it. */
export class KeptServes {
  readonly #path: string;
  #serves: readonly KeptServe[];
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, serves: readonly KeptServe[]) {
    this.#path = path;
    this.#serves = serves;
  }

  /** A file that is not there or cannot be understood begins anew: a model that is missing is served again by hand. */
  static async open(path: string): Promise<KeptServes> {
    const text = await readPrivateFile(path);
    try {
      return new KeptServes(path, fileSchema.parse(JSON.parse(text ?? '')).serves);
    } catch {
      return new KeptServes(path, []);
    }
  }

  list(): readonly KeptServe[] {
    return this.#serves;
  }

  /** In place of what was kept of the same model. Resolves when it is on the disk. */
  keep(serve: KeptServe): Promise<void> {
    return this.#write([...this.#serves.filter(({ modelId }) => modelId !== serve.modelId), serve]);
  }

  /** Answers whether there was such a model, by its name or one of its aliases. */
  async forget(called: string): Promise<boolean> {
    const left = this.#serves.filter(
      ({ modelId, request }) => modelId !== called && !request.aliases?.includes(called),
    );
    if (left.length === this.#serves.length) return false;
    await this.#write(left);
    return true;
  }

  #write(serves: readonly KeptServe[]): Promise<void> {
    this.#serves = serves;
    const text = JSON.stringify({ version: 1, serves });
    const write = (): Promise<void> => writePrivateFile(this.#path, text);
    this.#writing = this.#writing.then(write, write);
    return this.#writing;
  }
}
