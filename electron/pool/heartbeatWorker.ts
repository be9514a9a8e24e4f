import { parentPort, workerData } from 'node:worker_threads';
import { Heartbeat } from './heartbeat.ts';
import type { HeartbeatOptions, HeartbeatOrder, HeartbeatReport } from './heartbeatContract.ts';

/** The entry of the thread in which a member's heartbeat lives, so that it goes on while the member is busy. */
async function beat(options: HeartbeatOptions): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('The heartbeat runs in a worker thread only.');
  const report = (what: HeartbeatReport): void => port.postMessage(what);
  const heartbeat = await Heartbeat.start(options, {
    onChange: (view) => report({ type: 'changed', view }),
    onTwin: (addresses) => report({ type: 'twin', addresses }),
    onTrouble: (message) => report({ type: 'trouble', message }),
  });
  port.on('message', (order: HeartbeatOrder) => {
    switch (order.type) {
      case 'addPeer':
        heartbeat.addPeer(order.peer, order.addresses);
        break;
      case 'removePeer':
        heartbeat.removePeer(order.peer);
        break;
      case 'card':
      case 'progress':
        heartbeat.take(order);
        break;
      case 'tls':
        heartbeat.setTls(order.tls);
        break;
      case 'stop':
        // With its port closed and nothing left to do the thread ends.
        void heartbeat.stop(order.goodbye).then(() => port.close());
    }
  });
  report({ type: 'started', port: heartbeat.port, view: heartbeat.view });
}

beat(workerData).catch((error: Error) => {
  parentPort?.postMessage({ type: 'failed', message: error.message } satisfies HeartbeatReport);
  parentPort?.close();
});
