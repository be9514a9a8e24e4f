import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../gatewayError.ts';

/** Answers what is no HTTP request (or did not arrive in time) in the shape of all errors, and hangs up. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statuses[error.code ?? ''] ?? 400;
  const message = messages[status] ?? 'The request is not HTTP as this gateway understands it.';
  const body = JSON.stringify(new GatewayError(message, { status, code: 'bad_http' }).body());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

const messages: Record<number, string> = {
  408: 'The request did not arrive in time.',
  431: 'The header lines of the request are too long.',
};

const statuses: Record<string, number> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};
