import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { type Heartbeat, type HeartbeatsServer, HeartbeatsService } from './generated/roomful/v1/heartbeat.ts';
import { HeartbeatLink } from './heartbeatLink.ts';
import { peerOf } from './peerOf.ts';
import { refusal } from './refusal.ts';
import type { ServedService } from './wireServer.ts';

/** How long the end of a link may take to reach a peer that hangs, ms. */
const GOODBYE_MS = 1000;

/** Takes the links that other members dial. */
export function heartbeatService(onLink: (link: HeartbeatLink) => void): ServedService {
  const handlers: HeartbeatsServer = {
    beats: (call) => {
      const peer = peerOf(call);
      if (peer === null) {
        call.emit('error', refusal('Uncertified', 'A certificate of this pool is needed.'));
        return;
      }
      call.sendMetadata(new Metadata());
      onLink(new HeartbeatLink(peer, { host: hostOf(call.getPeer()), port: null }, call, () => cut(call)));
    },
  };
  return { definition: HeartbeatsService, handlers: { ...handlers } };
}

function cut(call: ServerDuplexStream<Heartbeat, Heartbeat>): void {
  call.end();
  const timer = setTimeout(() => call.destroy(), GOODBYE_MS);
  timer.unref();
  call.once('close', () => clearTimeout(timer));
}

/** The address in grpc-js's `address:port`; an IPv4 address that came in over IPv6 as IPv4. */
function hostOf(peer: string): string {
  return peer.slice(0, peer.lastIndexOf(':')).replace(/^::ffff:(?=\d+\.)/i, '');
}
