import { connect, type PeerCertificate } from 'node:tls';
import { memberIdOfCertificate } from '../wire/memberId.ts';
import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import { PeerUnreachable, WrongPeer } from '../wire/wireError.ts';
import { parseAddress } from './socketAddress.ts';

export interface DialOptions {
  /** `host:port` of the control plane. */
  address: string;
  /** The id of the member that has to answer. */
  member: string;
  tls: TlsMaterial;
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** Which of the two ends' addresses the connection really used. */
export interface Reached {
  localHost: string;
  remoteHost: string;
}

const TIMEOUT_MS = 3000;

/**
 * Finds out whether a member answers at an address: a TLS handshake with both sides authenticated and no call, so that a
 * process that hangs does not count, nor does another machine that has the address now. The connection is closed again.
 * Throws PeerUnreachable, WrongPeer, or the reason of `signal`.
 */
export function dialMember(options: DialOptions): Promise<Reached> {
  const { address, member, tls, signal, timeoutMs = TIMEOUT_MS } = options;
  const target = parseAddress(address);
  if (target === null) return Promise.reject(new PeerUnreachable(address, 'that is no address'));
  return new Promise((resolve, reject) => {
    const socket = connect({
      ...target,
      ...tls,
      minVersion: 'TLSv1.3',
      ALPNProtocols: ['h2'],
      // Members are known by id; the fixed name keeps addresses out of SNI, as in channelOptions.
      servername: 'roomful',
      checkServerIdentity: (_host: string, certificate: PeerCertificate) => {
        const found = memberIdOfCertificate(certificate.raw);
        return found === member ? undefined : new WrongPeer(address, member, found);
      },
    });
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      socket.destroy();
      settle();
    };
    const fail = (why: string, cause?: unknown): void =>
      end(() => reject(new PeerUnreachable(address, why, { cause })));
    const giveUp = (): void => end(() => reject(signal?.reason));
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs);
    socket.once('secureConnect', () => {
      const { localAddress = '', remoteAddress = '' } = socket;
      end(() => resolve({ localHost: localAddress, remoteHost: remoteAddress }));
    });
    socket.on('error', (cause) => {
      if (cause instanceof WrongPeer) end(() => reject(cause));
      else fail(cause.message, cause);
    });
    socket.once('close', () => fail('the connection was closed'));
    signal?.addEventListener('abort', giveUp, { once: true });
    if (signal?.aborted) giveUp();
  });
}
