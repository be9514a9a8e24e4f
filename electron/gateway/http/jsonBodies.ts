import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { invalidField } from '../gatewayError.ts';

/** Reads JSON bodies and no others; refuses bytes that are not UTF-8 and `__proto__` keys with 400. */
export function jsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (!isUtf8(body)) return done(invalidField(null, 'The body is not valid UTF-8.', 'invalid_json'));
    return parse(request, body.toString('utf8'), done);
  });
}
