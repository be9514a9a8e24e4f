import { useEffect, useState } from 'react';
import type { DesktopSettings } from '../../electron/gateway/memberApi.ts';
import { lineOf } from '../controls/lineOf.ts';
import { callMember, useMember } from '../member/memberStore.ts';
import { Setting } from './Setting.tsx';

/** How the desktop app behaves; only its own window shows this. */
export function DesktopSection({ onProblem }: { onProblem: (line: string) => void }) {
  const open = useMember(({ connection }) => connection === 'open');
  const [settings, setSettings] = useState<DesktopSettings | null>(null);
  useEffect(() => {
    if (open) callMember('desktop', {}).then(setSettings, (cause: unknown) => onProblem(lineOf(cause)));
  }, [open, onProblem]);
  const change = (wanted: Partial<Pick<DesktopSettings, 'autostart' | 'notifications' | 'updates'>>) => {
    const before = settings;
    if (before === null) return;
    // At once, as switches do; the answer says what has really become of it.
    setSettings({ ...before, ...wanted });
    callMember('changeDesktop', wanted).then(setSettings, (cause: unknown) => {
      setSettings(before);
      onProblem(lineOf(cause));
    });
  };
  const toggle = (name: string, isOn: boolean, onChange: (on: boolean) => void, disabled = false) => (
    <input
      type="checkbox"
      aria-label={name}
      checked={isOn}
      disabled={settings === null || disabled}
      onChange={({ target }) => onChange(target.checked)}
    />
  );
  return (
    <section className="card settings" aria-label="The desktop app">
      <h2>The desktop app</h2>
      <Setting title="Start at login" about="It starts without a window; its icon in the tray opens one.">
        {toggle('Start at login', settings?.autostart ?? false, (autostart) => change({ autostart }))}
      </Setting>
      <Setting
        title="Notifications"
        about="When a member joins, may join or is lost, this machine is removed, a model is ready or a download is done."
      >
        {toggle('Notifications', settings?.notifications ?? false, (notifications) => change({ notifications }))}
      </Setting>
      <Setting
        title="Look for new versions"
        about={settings?.noUpdates ?? 'Asks a server now and then; what it finds is installed when you quit.'}
      >
        {toggle(
          'Look for new versions',
          settings?.updates ?? false,
          (updates) => change({ updates }),
          settings?.noUpdates !== null,
        )}
      </Setting>
    </section>
  );
}
