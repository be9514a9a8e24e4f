import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A file that the hub has; what it does wrong is said here. */
export interface HubFile {
  bytes: Buffer;
  /** Gated: a request needs this token. */
  token?: string;
  /** Tokens that are known and may not have it. */
  refusedTokens?: string[];
  /** Instead of the true hash, or none. */
  publishedSha256?: string | null;
  /** Claimed instead of the true length. */
  claimedBytes?: number;
  /** Without ranges, as simple servers are. */
  withoutRanges?: boolean;
}

/**
 * Plays the hub on loopback: manifests, redirections to a second host that holds the bytes, ranges, tokens. `breakAfter`
 * ends connections in mid-transfer.
 */
export class FakeHub {
  readonly files = new Map<string, HubFile>();
  /** Quantisation or `latest` of `user/repository` to its file. */
  readonly manifests = new Map<string, string>();
  /** Every request: host it came to, method, path, range and token. */
  readonly requests: {
    host: string;
    method: string;
    path: string;
    range: string | null;
    authorization: string | null;
  }[] = [];
  /** Bytes after which each of the next transfers breaks off. */
  breaks: number[] = [];
  /** Bytes sent by the second host. */
  sentBytes = 0;
  /** Holds transfers back while set. */
  hold: Promise<void> | null = null;
  readonly #hub: Server;
  readonly #cdn: Server;

  private constructor(hub: Server, cdn: Server) {
    this.#hub = hub;
    this.#cdn = cdn;
  }

  static async start(): Promise<FakeHub> {
    const hub = createServer((request, response) => fake.#answerHub(request, response));
    const cdn = createServer((request, response) => void fake.#answerCdn(request, response));
    const fake = new FakeHub(hub, cdn);
    for (const server of [hub, cdn]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  /** Base address, with a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${(this.#hub.address() as AddressInfo).port}/`;
  }

  /** Where the bytes are; another host than the hub. */
  get cdnUrl(): string {
    return `http://localhost:${(this.#cdn.address() as AddressInfo).port}/`;
  }

  /** How many of the next requests to the hub are answered by nobody. */
  away = 0;

  /** `user/repository/file` of the hub. */
  add(path: string, file: HubFile): void {
    this.files.set(path, file);
  }

  async close(): Promise<void> {
    for (const server of [this.#hub, this.#cdn]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  #note(host: string, { method = '', url = '', headers }: IncomingMessage): void {
    const { range = null, authorization = null } = headers;
    this.requests.push({ host, method, path: url, range, authorization });
  }

  #answerHub(request: IncomingMessage, response: ServerResponse): void {
    if (this.away > 0) {
      this.away -= 1;
      return void request.destroy();
    }
    this.#note('hub', request);
    const path = decodeURIComponent(new URL(request.url ?? '/', this.url).pathname).slice(1);
    const manifest = /^v2\/([^/]+\/[^/]+)\/manifests\/(.+)$/.exec(path);
    if (manifest !== null) {
      const rfilename = this.manifests.get(`${manifest[1]}:${manifest[2]}`);
      response.writeHead(rfilename === undefined ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(rfilename === undefined ? {} : { ggufFile: { rfilename } }));
      return;
    }
    const [, repository, name] = /^([^/]+\/[^/]+)\/resolve\/main\/(.+)$/.exec(path) ?? [];
    const file = this.files.get(`${repository}/${name}`);
    const given = request.headers.authorization?.replace('Bearer ', '') ?? null;
    if (file === undefined) return void response.writeHead(404).end();
    if (file.token !== undefined && given !== file.token) {
      return void response.writeHead(file.refusedTokens?.includes(given ?? '') ? 403 : 401).end();
    }
    const sha256 = createHash('sha256').update(file.bytes).digest('hex');
    const published = file.publishedSha256 === undefined ? sha256 : file.publishedSha256;
    response.writeHead(302, {
      location: `${this.cdnUrl}signed/${Buffer.from(`${repository}/${name}`).toString('hex')}?signature=yes`,
      'x-linked-size': String(file.claimedBytes ?? file.bytes.byteLength),
      ...(published !== null && { 'x-linked-etag': `"${published}"` }),
    });
    response.end();
  }

  async #answerCdn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#note('cdn', request);
    const { pathname } = new URL(request.url ?? '/', this.cdnUrl);
    const name = pathname.startsWith('/signed/')
      ? Buffer.from(pathname.slice('/signed/'.length), 'hex').toString()
      : decodeURIComponent(pathname.slice(1));
    const file = this.files.get(name);
    if (file === undefined) return void response.writeHead(404).end();
    const { bytes, claimedBytes = bytes.byteLength, withoutRanges = false } = file;
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const start = withoutRanges || from === undefined ? 0 : Number(from);
    const end = withoutRanges || to === undefined ? claimedBytes : Math.min(Number(to) + 1, claimedBytes);
    const isPart = !withoutRanges && from !== undefined;
    response.writeHead(isPart ? 206 : 200, {
      'content-length': end - start,
      ...(!withoutRanges && { 'accept-ranges': 'bytes' }),
      ...(isPart && { 'content-range': `bytes ${start}-${end - 1}/${claimedBytes}` }),
    });
    if (request.method === 'HEAD') return void response.end();
    // The first request only asks what there is; its body is never read.
    const isTransfer = isPart || withoutRanges;
    const breakAt = isTransfer ? (this.breaks.shift() ?? null) : null;
    const body = bytes.subarray(start, end);
    const left = new AbortController();
    response.once('close', () => left.abort());
    const { signal } = left;
    for (let at = 0; at < body.byteLength; at += 64 << 10) {
      if (isTransfer && this.hold !== null) await this.hold;
      const piece = body.subarray(at, at + (64 << 10));
      if (breakAt !== null && at + piece.byteLength > breakAt) return void response.destroy();
      if (response.destroyed) return;
      if (isTransfer) this.sentBytes += piece.byteLength;
      if (!response.write(piece)) await once(response, 'drain', { signal }).catch(() => {});
    }
    if (body.byteLength < end - start) return void response.destroy();
    response.end();
  }
}
