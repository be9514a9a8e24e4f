import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { z } from 'zod';

/**
 * Asks another machine over HTTPS, as a program that trusts the certificate in one file and no other. The argument is the
 * question; says the status and the text of the answer, or why there was none.
 */
const questionSchema = z.object({
  url: z.url(),
  /** File of the certificate; the system's own where left out. */
  ca: z.string().optional(),
  method: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
});

const { url, ca, method, headers } = questionSchema.parse(JSON.parse(process.argv[2] ?? ''));
try {
  const { hostname, port, pathname } = new URL(url);
  const request = httpsRequest({
    ...{ host: hostname, port, path: pathname, method: method ?? 'GET', headers: headers ?? {}, agent: false },
    ...(ca !== undefined && { ca: await readFile(ca, 'utf8') }),
    // Without a name of its own Node would take the Host header for that of the server.
    servername: '',
  });
  request.end();
  const [response] = await once(request, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  process.stdout.write(JSON.stringify({ status: response.statusCode, headers: response.headers, text }));
} catch (cause) {
  const failed = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  process.stdout.write(JSON.stringify({ failed }));
}
