import type { MemberPipe, PipeEvents } from './memberPipe.ts';
import { signIn } from './signIn.ts';

const FIRST_RETRY_MS = 300;
const LONGEST_RETRY_MS = 5_000;

/** The pipe in a browser: signs in, opens the WebSocket, and opens it again whenever it is lost. */
export function openSocketPipe(events: PipeEvents): MemberPipe {
  let socket: WebSocket | null = null;
  let retryMs = FIRST_RETRY_MS;

  async function open(): Promise<void> {
    const answer = await signIn();
    if (answer === 'locked') {
      events.onLocked();
      return;
    }
    if (answer === 'unreachable') {
      lost();
      return;
    }
    const address = new URL('/window/socket', window.location.href);
    address.protocol = address.protocol.replace('http', 'ws');
    socket = new WebSocket(address);
    socket.addEventListener('open', () => {
      retryMs = FIRST_RETRY_MS;
      events.onOpen();
    });
    socket.addEventListener('message', ({ data }) => events.onMessage(JSON.parse(String(data))));
    socket.addEventListener('close', lost);
  }

  function lost(): void {
    socket = null;
    events.onLost();
    setTimeout(start, retryMs);
    retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
  }

  function start(): void {
    open().catch(lost);
  }

  start();
  // A link opened a second time only changes the fragment of this page.
  window.addEventListener('hashchange', () => {
    if (socket === null) start();
  });
  return { send: (message) => socket?.send(JSON.stringify(message)) };
}
