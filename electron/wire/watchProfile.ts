import { clientOptions } from './channelOptions.ts';
import { type MemberProfile, ProfilesClient } from './generated/roomful/v1/profile.ts';
import { type Peer, PeerCalls } from './peerCalls.ts';

/**
 * The profile of a member, at once and then after every change, on a connection of its own. Ends when the member closes,
 * throws a WireError when it refuses or is lost; leaving the iteration, or `signal`, gives the connection back.
 */
export async function* watchProfile(peer: Peer, signal?: AbortSignal): AsyncGenerator<MemberProfile, void, void> {
  const calls = new PeerCalls(peer);
  const client = new ProfilesClient(peer.address, calls.credentials, clientOptions);
  const call = client.watch({});
  const cancel = (): void => call.cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  let up = false;
  call.once('metadata', () => {
    up = true;
  });
  try {
    for await (const profile of call) yield profile;
  } catch (error) {
    throw calls.errorOf(error, { what: 'Watching a profile', up, timeoutMs: 0 });
  } finally {
    signal?.removeEventListener('abort', cancel);
    call.cancel();
    client.close();
  }
}
