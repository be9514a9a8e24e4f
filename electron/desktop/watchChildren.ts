import { app } from 'electron';
import type { DesktopNews } from './desktopNews.ts';

/** As utilityLauncher names its hosts. */
const HOST_NAME = /^Roomful /;

/**
 * Tells of a host that crashed. The member knows what it ran and goes on without; what Electron itself loses, such as its
 * process for graphics, Electron starts again.
 */
export function watchChildren(tell: (news: DesktopNews) => void): void {
  app.on('child-process-gone', (_event, { reason, name, serviceName }) => {
    if (reason === 'clean-exit' || reason === 'killed') return;
    if (![name, serviceName].some((text) => text !== undefined && HOST_NAME.test(text))) return;
    tell({
      title: 'A part of Roomful has crashed',
      body: 'Models with layers on this machine may have stopped. The log says more.',
      page: 'logs',
    });
  });
}
