import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';

export interface RendererFile {
  body: Buffer;
  contentType: string;
  etag: string;
  /** Its name carries a hash of its content, so that it never changes. */
  immutable: boolean;
}

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/**
 * The built window in memory, by its URL path (`/`, `/assets/index-1a2b.js`). Only what was there at the start is ever
 * served, so no request can reach another file.
 */
export async function readRendererFiles(folder: string): Promise<ReadonlyMap<string, RendererFile>> {
  const files = new Map<string, RendererFile>();
  let entries: Awaited<ReturnType<typeof list>>;
  try {
    entries = await list(folder);
  } catch (cause) {
    throw new Error('The window is not built; run `npm run build` in the checkout of Roomful.', { cause });
  }
  for (const entry of entries) {
    const contentType = contentTypes[extname(entry.name)];
    if (!entry.isFile() || contentType === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const url = `/${relative(folder, path).split(sep).join('/')}`;
    const body = await readFile(path);
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    files.set(url === '/index.html' ? '/' : url, { body, contentType, etag, immutable: url.startsWith('/assets/') });
  }
  return files;
}

function list(folder: string) {
  return readdir(folder, { recursive: true, withFileTypes: true });
}
