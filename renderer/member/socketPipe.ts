import type { MemberPipe, PipeEvents } from './memberPipe.ts';
import { signIn } from './signIn.ts';

const FIRST_RETRY_MS = 300;
const LONGEST_RETRY_MS = 5_000;

/** The pipe in a browser: signs in, opens the WebSocket, and opens it again whenever it is lost. */
export function openSocketPipe(events: PipeEvents): MemberPipe {
  let socket: WebSocket | null = null;
  let retryMs = FIRST_RETRY_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts the attempts: what an earlier one still tells is of no interest. */
  let attempt = 0;

  async function open(mine: number): Promise<void> {
    const answer = await signIn();
    if (mine !== attempt) return;
    if (answer === 'locked') {
      events.onLocked();
      return;
    }
    if (answer === 'unreachable') {
      lost(mine);
      return;
    }
    const address = new URL('/window/socket', window.location.href);
    address.protocol = address.protocol.replace('http', 'ws');
    socket = new WebSocket(address);
    socket.addEventListener('open', () => {
      if (mine !== attempt) return;
      retryMs = FIRST_RETRY_MS;
      events.onOpen();
    });
    socket.addEventListener('message', ({ data }) => {
      if (mine === attempt) events.onMessage(JSON.parse(String(data)));
    });
    socket.addEventListener('close', () => lost(mine));
  }

  function lost(mine: number): void {
    if (mine !== attempt) return;
    socket = null;
    events.onLost();
    timer = setTimeout(start, retryMs);
    retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
  }

  function start(): void {
    clearTimeout(timer);
    attempt += 1;
    const mine = attempt;
    open(mine).catch(() => lost(mine));
  }

  start();
  // A link opened a second time only changes the fragment of this page.
  window.addEventListener('hashchange', () => {
    if (socket === null) start();
  });
  return { send: (message) => socket?.send(JSON.stringify(message)) };
}
