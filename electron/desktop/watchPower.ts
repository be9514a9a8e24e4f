import { powerMonitor } from 'electron';
import type { DesktopMember } from './desktopMember.ts';

/**
 * Lets the member follow what the machine does: it leaves its pool before a sleep and comes back after it, and looks at the
 * battery as soon as that is used. Systems wait little or not at all before they sleep; the others see a member that did not
 * get to say goodbye as lost.
 */
export function watchPower(member: Pick<DesktopMember, 'sleep' | 'wake' | 'checkPower'>, onShutdown: () => void): void {
  powerMonitor.on('suspend', () => void member.sleep());
  powerMonitor.on('resume', () => void member.wake());
  powerMonitor.on('on-battery', () => void member.checkPower());
  powerMonitor.on('on-ac', () => void member.checkPower());
  const shutDown = (event: { preventDefault(): void }): void => {
    // The system then waits a little until the app has ended; Electron's types do not know of the event.
    event.preventDefault();
    onShutdown();
  };
  powerMonitor.on('shutdown', shutDown as () => void);
}
