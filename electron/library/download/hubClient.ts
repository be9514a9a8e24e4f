import { z } from 'zod';
import { LibraryError } from '../libraryError.ts';
import type { ModelReference } from './modelReference.ts';

/** A file to be downloaded, as the server that has it describes it. */
export interface RemoteFile {
  name: string;
  /** Where its bytes are, after redirections. */
  url: string;
  /** Null where the server does not say. */
  bytes: number | null;
  /** SHA-256 in hex where the hub publishes it. */
  sha256: string | null;
  /** Differs where the file does. */
  tag: string | null;
}

export interface HubOptions {
  /** Base address, with a slash at its end. */
  hub: string;
  /** For the hub alone. */
  token: string | null;
  signal: AbortSignal;
}

/** The hub where neither the options nor `HF_ENDPOINT` name another. */
export const DEFAULT_HUB = 'https://huggingface.co/';

/** For one answer, ms. */
const ANSWER_MS = 30_000;
const MOST_REDIRECTS = 8;
/** As openModel. */
const MOST_SHARDS = 1024;

/**
 * Asks where the files of a model are, and what they are. Rejects with LibraryError('Refused') where the server does not
 * give them, and ('Unreachable') where nobody answers.
 */
export async function resolveFiles(reference: ModelReference, options: HubOptions): Promise<RemoteFile[]> {
  const first = await firstUrl(reference, options);
  const files: RemoteFile[] = [];
  for (const url of shardUrls(first)) files.push(await describeFile(url, reference, options));
  return files;
}

const manifestSchema = z.object({ ggufFile: z.object({ rfilename: z.string().min(1).max(1000) }) });

/** The hub chooses a file by quantisation, as for llama.cpp's `-hf`. */
async function firstUrl(reference: ModelReference, options: HubOptions): Promise<URL> {
  if (reference.kind === 'url') return new URL(reference.url);
  const { user, repository, quantisation, revision } = reference;
  const file = reference.file ?? (await manifestFile(`${user}/${repository}`, quantisation ?? 'latest', options));
  const path = file.split('/').map(encodeURIComponent).join('/');
  return new URL(`${user}/${repository}/resolve/${encodeURIComponent(revision)}/${path}`, options.hub);
}

async function manifestFile(model: string, tag: string, options: HubOptions): Promise<string> {
  const url = new URL(`v2/${model}/manifests/${encodeURIComponent(tag)}`, options.hub);
  // By this name the hub knows that a GGUF is wanted.
  const response = await ask(url, { method: 'GET', headers: { 'user-agent': 'llama-cpp' } }, options);
  if (response.status === 400 || response.status === 404) {
    throw new LibraryError(
      'Refused',
      `The hub has no '${tag}' GGUF of ${model}. Look at ${new URL(model, options.hub)}`,
    );
  }
  if (!response.ok) throw refusal(response, url, options, model);
  const manifest = manifestSchema.safeParse(await response.json().catch(() => null));
  if (!manifest.success) {
    throw new LibraryError('Refused', `${url.host} answered with something else than a list of files for ${model}.`);
  }
  return manifest.data.ggufFile.rfilename;
}

/** The addresses of all files of the set that one of them belongs to. */
function shardUrls(url: URL): URL[] {
  const [, before, count] = /^(.*)-\d{5}-of-(\d{5})\.gguf$/i.exec(url.pathname) ?? [];
  if (before === undefined || count === undefined) return [url];
  if (Number(count) < 1 || Number(count) > MOST_SHARDS) {
    throw new LibraryError('BadReference', `${url.href} claims to be one of ${Number(count)} files.`);
  }
  return Array.from({ length: Number(count) }, (_, index) => {
    const shard = new URL(url);
    shard.pathname = `${before}-${String(index + 1).padStart(5, '0')}-of-${count}.gguf`;
    return shard;
  });
}

/**
 * Follows redirections by hand: the hub's hash of the file is in its first answer, and the token is for the hub alone. Asks for
 * one byte rather than with HEAD, which addresses that are signed for GET refuse.
 */
async function describeFile(start: URL, reference: ModelReference, options: HubOptions): Promise<RemoteFile> {
  const model = reference.kind === 'hub' ? `${reference.user}/${reference.repository}` : null;
  const name = fileName(start);
  const known: Pick<RemoteFile, 'bytes' | 'sha256' | 'tag'> = { bytes: null, sha256: null, tag: null };
  let url = start;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    // Bodies that are compressed on the way have no length that counts.
    const headers = { 'accept-encoding': 'identity', range: 'bytes=0-0' };
    const response = await ask(url, { method: 'GET', headers, redirect: 'manual' }, options);
    await response.body?.cancel();
    note(known, response.headers);
    const location = response.headers.get('location');
    if (response.status >= 300 && response.status < 400 && location !== null && URL.canParse(location, url.href)) {
      url = new URL(location, url);
      if (!/^https?:$/.test(url.protocol)) break;
      // The hub has said all there is to know.
      if (known.bytes !== null) return { name, url: url.href, ...known };
      continue;
    }
    if (!response.ok) throw refusal(response, start, options, model);
    known.bytes ??= wholeSize(response);
    return { name, url: url.href, ...known };
  }
  throw new LibraryError('Refused', `${start.href} leads to nothing that can be downloaded.`);
}

function wholeSize({ status, headers }: Response): number | null {
  if (status !== 206) return wholeNumber(headers.get('content-length'));
  return wholeNumber(/\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] ?? null);
}

function note(known: Pick<RemoteFile, 'bytes' | 'sha256' | 'tag'>, headers: Headers): void {
  const linked = headers.get('x-linked-etag');
  const tag = (linked ?? headers.get('etag'))?.replace(/^W\//, '').replaceAll('"', '') ?? null;
  known.tag ??= tag;
  known.bytes ??= wholeNumber(headers.get('x-linked-size'));
  if (linked !== null && tag !== null && /^[0-9a-f]{64}$/.test(tag)) known.sha256 ??= tag;
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The last part of an address as a file's name, harmless on every system. */
function fileName(url: URL): string {
  const last = url.pathname.split('/').at(-1) ?? '';
  let name = last;
  try {
    name = decodeURIComponent(last);
  } catch {
    // As it is, then.
  }
  const harmless =
    name
      .replaceAll(/[\p{Cc}<>:"/\\|?*]/gu, '_')
      .replace(/^\.+/, '_')
      .slice(-200) || 'model';
  return /\.gguf$/i.test(harmless) ? harmless : `${harmless}.gguf`;
}

async function ask(
  url: URL,
  init: RequestInit & { headers: Record<string, string> },
  options: HubOptions,
): Promise<Response> {
  const isHub = url.origin === new URL(options.hub).origin;
  const authorization = isHub && options.token !== null ? { authorization: `Bearer ${options.token}` } : {};
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(ANSWER_MS)]);
  try {
    return await fetch(url, { ...init, headers: { ...init.headers, ...authorization }, signal });
  } catch (cause) {
    options.signal.throwIfAborted();
    throw unreachable(url, cause);
  }
}

/** Nobody answers. */
function unreachable(url: URL, cause: unknown): LibraryError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why = inner instanceof Error && 'code' in inner ? String(inner.code) : inner instanceof Error ? inner.name : '';
  const remedy = 'Check the connection and ask again; what has arrived is kept.';
  return new LibraryError('Unreachable', `${url.host} cannot be reached (${why}). ${remedy}`, { cause });
}

function refusal(response: Response, url: URL, { hub, token }: HubOptions, model: string | null): LibraryError {
  const { status } = response;
  const what = model ?? url.href;
  if (status === 401 || status === 403) return new LibraryError('Refused', forbidden(url, hub, token, model));
  if (status === 404 || status === 410)
    return new LibraryError('Refused', `${what}: there is no such file (${status}).`);
  if (status === 429) return new LibraryError('Refused', `${url.host} asks to wait before the next try (429).`);
  return new LibraryError('Refused', `${url.host} answered ${status} for ${what}. Try again later.`);
}

function forbidden(url: URL, hub: string, token: string | null, model: string | null): string {
  if (model === null || url.origin !== new URL(hub).origin)
    return `${url.href} may not be downloaded: ${url.host} refuses.`;
  const page = new URL(model, hub).href;
  if (token === null) {
    return `The hub gives ${model} only with a token: accept its terms at ${page}, then \`roomful hub-token\`. Or it does not exist.`;
  }
  return `The hub does not give ${model} for your token: accept its terms at ${page} with the account of the token.`;
}
