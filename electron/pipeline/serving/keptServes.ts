import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { forces, kvTypes, plainRamChoices, policies } from '../../planner/planOptions.ts';
import { readPrivateFile, writePrivateFile } from '../../pool/privateFile.ts';
import type { KeptServes as KeptNews } from '../../wire/generated/roomful/v1/serving.ts';
import type { ServeRequest } from './serveEvents.ts';

/** A model that this member was asked to serve, or takes part in serving, and that nobody has stopped since. */
export interface KeptServe {
  /** Of this serving: another one of the same model has another. */
  id: string;
  /** What clients call it. */
  modelId: string;
  request: ServeRequest;
  /** Ids of the members that took part. */
  members: readonly string[];
}

const requestSchema: z.ZodType<ServeRequest> = z.strictObject({
  model: z.string(),
  members: z.array(z.union([z.string(), z.strictObject({ address: z.string(), id: z.string() })])).optional(),
  force: z.enum(forces).optional(),
  policy: z.enum(policies).optional(),
  plainRam: z.enum(plainRamChoices).optional(),
  contextLength: z.int().optional(),
  slots: z.int().optional(),
  replicas: z.int().optional(),
  kvType: z.enum(kvTypes).optional(),
  draft: z.string().optional(),
  mostDrafts: z.int().optional(),
  exact: z.boolean().optional(),
  aliases: z.array(z.string()).optional(),
});
const idSchema = z.string().min(1).max(64);
const serveSchema = z.strictObject({
  id: idSchema,
  modelId: z.string(),
  request: requestSchema,
  members: z.array(z.string()),
});
const stateSchema = z.strictObject({ serves: z.array(serveSchema).max(1000), stopped: z.array(idSchema).max(1000) });
const fileSchema = stateSchema.extend({ version: z.literal(2) });

/** What a member keeps: what is to come back, and the ids of what is not. */
export interface KeptState {
  serves: readonly KeptServe[];
  /** The latest last. */
  stopped: readonly string[];
}

/** A member that is away for longer than it takes to stop so many may bring one of them back. */
const MOST_STOPPED = 500;

/**
 * What was served and is to come back after a restart until somebody stops it. Everyone who took part keeps it, so that it
 * comes back with any of them, and keeps what was stopped too, so that who was away then hears of it (`learn`).
 */
export class KeptServes {
  readonly #path: string;
  #state: KeptState;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, state: KeptState) {
    this.#path = path;
    this.#state = state;
  }

  /** A file that is not there or cannot be understood begins anew: a model that is missing is served again by hand. */
  static async open(path: string): Promise<KeptServes> {
    const text = await readPrivateFile(path);
    try {
      const { serves, stopped } = fileSchema.parse(JSON.parse(text ?? ''));
      return new KeptServes(path, { serves, stopped });
    } catch {
      return new KeptServes(path, { serves: [], stopped: [] });
    }
  }

  list(): readonly KeptServe[] {
    return this.#state.serves;
  }

  /** In place of what was kept of the same model. Resolves when it is on the disk. */
  keep(serve: Omit<KeptServe, 'id'>): Promise<void> {
    const { serves, stopped } = this.#state;
    const replaced = serves.filter(({ modelId }) => modelId === serve.modelId).map(({ id }) => id);
    return this.#write({
      serves: [...serves.filter(({ id }) => !replaced.includes(id)), { ...serve, id: randomUUID() }],
      stopped: [...stopped, ...replaced],
    });
  }

  /** Answers whether there was such a model, by its name or one of its aliases. */
  async forget(called: string): Promise<boolean> {
    const { serves, stopped } = this.#state;
    const gone = serves.filter(({ modelId, request }) => modelId === called || request.aliases?.includes(called));
    if (gone.length === 0) return false;
    await this.#write({
      serves: serves.filter((serve) => !gone.includes(serve)),
      stopped: [...stopped, ...gone.map(({ id }) => id)],
    });
    return true;
  }

  /** As another member is told. */
  news(): KeptNews {
    const { serves, stopped } = this.#state;
    return {
      serves: serves.map(({ id, modelId, request, members }) => {
        return { id, modelId, request: JSON.stringify(request), members: [...members] };
      }),
      stopped: [...stopped],
    };
  }

  /** Takes over what another member keeps that concerns `self`. Rejects where that cannot be understood. */
  async learn(news: KeptNews, self: string): Promise<void> {
    const theirs = stateSchema.parse({
      ...news,
      serves: news.serves.map(({ request, ...serve }) => ({ ...serve, request: JSON.parse(request) })),
    });
    const merged = mergeServes(this.#state, theirs, self);
    if (JSON.stringify(merged) !== JSON.stringify(this.#state)) await this.#write(merged);
  }

  #write({ serves, stopped }: KeptState): Promise<void> {
    this.#state = { serves, stopped: stopped.slice(-MOST_STOPPED) };
    const text = JSON.stringify({ version: 2, ...this.#state });
    const write = (): Promise<void> => writePrivateFile(this.#path, text);
    this.#writing = this.#writing.then(write, write);
    return this.#writing;
  }
}

/**
 * What `self` keeps once it has heard what another member keeps: nothing that either of them knows as stopped, and of what
 * is new only that in which it took part. Of two servings of one model, of which nobody has heard both, its own stays.
 */
export function mergeServes(own: KeptState, theirs: KeptState, self: string): KeptState {
  const stopped = [...own.stopped, ...theirs.stopped.filter((id) => !own.stopped.includes(id))];
  const serves = own.serves.filter(({ id }) => !stopped.includes(id));
  const known = new Set(serves.map(({ modelId }) => modelId));
  const learned = theirs.serves.filter(
    ({ id, modelId, members }) => members.includes(self) && !known.has(modelId) && !stopped.includes(id),
  );
  return { serves: [...serves, ...learned], stopped };
}
