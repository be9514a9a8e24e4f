import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readPrivateFile, writePrivateFile } from '../../pool/privateFile.ts';
import { GatewayError } from '../gatewayError.ts';
import type { ApiKey } from '../memberApi.ts';

const keySchema = z.object({
  id: z.string(),
  name: z.string(),
  hash: z.string(),
  hint: z.string(),
  createdAtMs: z.number(),
  lastUsedMs: z.number().nullable(),
  requests: z.number(),
  promptTokens: z.number(),
  completionTokens: z.number(),
});
const fileSchema = z.object({ keys: z.array(keySchema) });
type KeptKey = z.infer<typeof keySchema>;

/** Usage is written down this long after it came, so that busy keys cost two writes a second at most, ms. */
const WRITE_AFTER_MS = 500;
const MOST_KEYS = 1000;

/**
 * The keys with which programs of other machines may use this member's endpoint. A key is 256 random bits, so its SHA-256 is
 * all that is kept of it, in a file for its owner alone (0600).
 */
export class ApiKeys {
  readonly #path: string;
  readonly #onChange: () => void;
  readonly #onProblem: (cause: unknown) => void;
  readonly #now: () => number;
  #keys: KeptKey[];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, keys: KeptKey[], options: ApiKeysOptions) {
    this.#path = path;
    this.#keys = keys;
    this.#onChange = options.onChange ?? (() => {});
    this.#onProblem = options.onProblem;
    this.#now = options.now ?? Date.now;
  }

  /** Rejects where the file is there and cannot be read: keys are never forgotten silently. */
  static async open(path: string, options: ApiKeysOptions): Promise<ApiKeys> {
    const text = await readPrivateFile(path);
    if (text === null) return new ApiKeys(path, [], options);
    try {
      return new ApiKeys(path, fileSchema.parse(JSON.parse(text)).keys, options);
    } catch (cause) {
      throw new Error(`${path} is damaged. Restore it from a backup, or delete it and make new keys.`, { cause });
    }
  }

  list(): ApiKey[] {
    return this.#keys.map(({ hash: _hash, ...key }) => key);
  }

  /** Makes a key; its text is given here and never again. */
  async add(name: string): Promise<{ id: string; name: string; key: string }> {
    if (this.#keys.length >= MOST_KEYS)
      throw new GatewayError('There are too many keys; revoke some.', { status: 409 });
    if (this.#keys.some((one) => one.name === name)) {
      throw new GatewayError(`There is a key called ${name} already.`, { status: 409, code: 'name_taken' });
    }
    const key = `sk-roomful-${randomBytes(32).toString('base64url')}`;
    const id = randomBytes(6).toString('hex');
    const times = { createdAtMs: this.#now(), lastUsedMs: null };
    const usage = { requests: 0, promptTokens: 0, completionTokens: 0 };
    this.#keys.push({ id, name, hash: hashOf(key), hint: key.slice(-4), ...times, ...usage });
    await this.#write();
    this.#onChange();
    return { id, name, key };
  }

  /** By id or name; from now on it opens nothing. */
  async revoke(called: string): Promise<ApiKey> {
    const found = this.#keys.find(({ id }) => id === called) ?? this.#keys.find(({ name }) => name === called);
    if (found === undefined) {
      throw new GatewayError(`There is no key called ${called}; \`roomful keys list\` shows them.`, { status: 404 });
    }
    this.#keys = this.#keys.filter((one) => one !== found);
    await this.#write();
    this.#onChange();
    const { hash: _hash, ...key } = found;
    return key;
  }

  /** The id of the key with this text, null where there is none. Looked up by its hash, so that the time tells nothing. */
  find(text: string): string | null {
    const hash = hashOf(text);
    return this.#keys.find((one) => one.hash === hash)?.id ?? null;
  }

  /** Counts what was done with a key; one that was revoked meanwhile is not counted any more. */
  count(id: string, used: { requests?: number; promptTokens?: number; completionTokens?: number }): void {
    const key = this.#keys.find((one) => one.id === id);
    if (key === undefined) return;
    key.requests += used.requests ?? 0;
    key.promptTokens += used.promptTokens ?? 0;
    key.completionTokens += used.completionTokens ?? 0;
    key.lastUsedMs = this.#now();
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#write().catch(this.#onProblem);
      this.#onChange();
    }, WRITE_AFTER_MS).unref();
  }

  /** Writes down what has been counted. */
  async close(): Promise<void> {
    if (this.#timer === null) return this.#writing;
    clearTimeout(this.#timer);
    this.#timer = null;
    await this.#write();
  }

  #write(): Promise<void> {
    const write = (): Promise<void> => writePrivateFile(this.#path, JSON.stringify({ keys: this.#keys }));
    const writing = this.#writing.then(write);
    this.#writing = writing.catch(() => {});
    return writing;
  }
}

export interface ApiKeysOptions {
  /** Called after every change, of usage half a second later. */
  onChange?: () => void;
  /** Hears why usage could not be written down. */
  onProblem: (cause: unknown) => void;
  /** ms since 1970. */
  now?: () => number;
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
