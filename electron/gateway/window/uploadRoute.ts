import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { link, mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { GatewayError } from '../gatewayError.ts';

/** A file name of a GGUF that is one on every system, and no path. */
const fileName = /^[\p{L}\p{N}][\p{L}\p{N} ._()+@-]{0,200}\.gguf$/iu;

/**
 * `PUT /window/files/NAME` takes a GGUF that was dropped on a window in a browser, which does not tell where it lies, into
 * the folder of models; answers with its path. The same bytes again are taken as they lie there; a file that breaks off, or
 * would replace another one, leaves nothing behind.
 */
export function uploadRoute(app: FastifyInstance, folder: string, onRequest: onRequestHookHandler): void {
  app.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
  app.put<{ Params: { name: string }; Body: Readable }>(
    '/window/files/:name',
    { onRequest, bodyLimit: Number.MAX_SAFE_INTEGER },
    async (request, reply) => {
      const { name } = request.params;
      if (!fileName.test(name)) throw refused(`${name.slice(0, 100)} is not the name of a GGUF file.`, 400);
      await mkdir(folder, { recursive: true });
      const path = join(folder, name);
      const temporary = `${path}.${randomUUID()}.part`;
      try {
        await pipeline(request.body, createWriteStream(temporary, { flags: 'wx' }));
        // Unlike a rename it never replaces another model.
        await link(temporary, path).catch(async (cause: unknown) => {
          if (!(await haveSameBytes(temporary, path))) throw cause;
        });
      } catch (cause) {
        throw failure(cause, name);
      } finally {
        await rm(temporary, { force: true });
      }
      return reply.send({ path });
    },
  );
}

async function haveSameBytes(left: string, right: string): Promise<boolean> {
  const [size, other] = await Promise.all([sizeOf(left), sizeOf(right)]);
  if (size === null || size !== other) return false;
  const [hash, otherHash] = [await sha256(left), await sha256(right)];
  return hash === otherHash;
}

async function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}

function failure(cause: unknown, name: string): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  if (code === 'EEXIST') return refused(`A model file called ${name} is there already.`, 409, cause);
  if (code === 'ENOSPC') return refused(`The disk is full: there is no room for ${name}.`, 507, cause);
  return cause;
}

function refused(message: string, status: number, cause?: unknown): GatewayError {
  return new GatewayError(message, { status, code: 'file_refused', cause });
}
