import { clientOptions } from './channelOptions.ts';
import { type IntroduceReply, IntroductionClient } from './generated/roomful/v1/introduction.ts';
import { type Peer, PeerCalls } from './peerCalls.ts';

const TIMEOUT_MS = 3000;

/** What another member says of itself. Rejects with a WireError. */
export async function askIntroduction(peer: Peer): Promise<IntroduceReply> {
  const calls = new PeerCalls(peer);
  const client = new IntroductionClient(peer.address, calls.credentials, clientOptions);
  try {
    return await calls.unary<IntroduceReply>('Meeting', TIMEOUT_MS, (metadata, options, done) =>
      client.introduce({}, metadata, options, done),
    );
  } finally {
    client.close();
  }
}
