import { X509Certificate } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import { memberIdOf } from '../../wire/memberId.ts';
import { PoolError } from '../poolError.ts';
import type { Invite } from './inviteToken.ts';
import { JOIN_PROTOCOL } from './joinListener.ts';

/** Between the addresses of an invite, so that a dead one costs no more than this, ms. */
const STAGGER_MS = 250;
const DIAL_TIMEOUT_MS = 10_000;

/**
 * Dials the addresses of an invite, each a moment after the one before, and answers the first connection on which the pool of
 * the invite has shown itself. Throws PoolError: 'ForeignInvite' when only another pool answers, else 'Unreachable'.
 */
export async function dialInviter(invite: Invite, nowMs: number): Promise<{ socket: TLSSocket; ca: string }> {
  const stop = new AbortController();
  const dials = invite.hosts.map((host, index) => dial(host, invite, nowMs, index * STAGGER_MS, stop.signal));
  try {
    const first = await Promise.any(dials);
    for (const other of dials) {
      other.then(
        ({ socket }) => socket !== first.socket && socket.destroy(),
        () => {},
      );
    }
    return first;
  } catch (cause) {
    const causes: unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
    const foreign = causes.find((error) => error instanceof PoolError && error.kind === 'ForeignInvite');
    if (foreign !== undefined) throw foreign;
    throw new PoolError(
      'Unreachable',
      `No member of ${invite.poolName} could be reached at ${invite.hosts.map((host) => place(host, invite.port)).join(', ')}. ` +
        'Are both machines on the same network, and is the inviting one running?',
      { cause },
    );
  } finally {
    stop.abort();
  }
}

async function dial(
  host: string,
  invite: Invite,
  nowMs: number,
  afterMs: number,
  signal: AbortSignal,
): Promise<{ socket: TLSSocket; ca: string }> {
  const where = place(host, invite.port);
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, afterMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  if (signal.aborted) throw new PoolError('Unreachable', `${where} was not needed.`);
  // Who joins knows no CA to hand to TLS, only a fingerprint; it is checked right below, before anything is sent.
  const socket = connect({
    host,
    port: invite.port,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
    ALPNProtocols: [JOIN_PROTOCOL],
  });
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no answer in time')), DIAL_TIMEOUT_MS);
      const settle = (done: () => void): void => {
        clearTimeout(timer);
        done();
      };
      socket.once('secureConnect', () => settle(resolve));
      socket.once('error', (error) => settle(() => reject(error)));
      socket.once('close', () => settle(() => reject(new Error('the connection was closed'))));
      signal.addEventListener('abort', () => settle(() => reject(new Error('not needed'))));
    });
    // Later errors end the exchange, which says so itself.
    socket.on('error', () => {});
    return { socket, ca: checkPool(socket, invite, where, nowMs) };
  } catch (cause) {
    socket.on('error', () => {});
    socket.destroy();
    throw cause;
  }
}

/** The CA certificate, PEM, after it has proved to be that of the invite, and the far end to be certified by it. */
function checkPool(socket: TLSSocket, invite: Invite, where: string, nowMs: number): string {
  const shown = socket.getPeerCertificate(true);
  const issuer = shown.issuerCertificate;
  const foreign = (why: string): PoolError =>
    new PoolError('ForeignInvite', `At ${where} answers no member of the pool that the invite is for: ${why}.`);
  if (socket.alpnProtocol !== JOIN_PROTOCOL || issuer === undefined) throw foreign('it is another program');
  const leaf = new X509Certificate(shown.raw);
  const ca = new X509Certificate(issuer.raw);
  if (memberIdOf(ca.publicKey) !== invite.pool) throw foreign('its pool is another one');
  if (!ca.ca || leaf.ca || !leaf.checkIssued(ca) || !leaf.verify(ca.publicKey)) throw foreign('its certificate is bad');
  if (nowMs < Date.parse(leaf.validFrom) || nowMs > Date.parse(leaf.validTo)) {
    throw foreign('its certificate is not valid now; is the clock right on both machines');
  }
  return ca.toString();
}

function place(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
