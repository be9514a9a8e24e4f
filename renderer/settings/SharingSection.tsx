import { useEffect, useState } from 'react';
import type { SharingChange, SharingSettings } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { lineOf } from '../controls/lineOf.ts';
import { callMember, useMember } from '../member/memberStore.ts';
import { choicesWith } from './choicesWith.ts';
import { Setting } from './Setting.tsx';

const GIGABYTES = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512];

/** How much of this machine models may take, and when it keeps that for its owner. */
export function SharingSection({ onProblem }: { onProblem: (line: string) => void }) {
  const open = useMember(({ connection }) => connection === 'open');
  const total = useMember(({ pool }) => {
    const devices = pool?.members.find(({ self }) => self)?.devices ?? [];
    return devices.reduce((sum, { totalBytes }) => sum + totalBytes, 0);
  });
  const [sharing, setSharing] = useState<SharingSettings | null>(null);
  useEffect(() => {
    if (open) callMember('sharing', {}).then(setSharing, (cause: unknown) => onProblem(lineOf(cause)));
  }, [open, onProblem]);
  const change = (wanted: SharingChange) => {
    callMember('changeSharing', wanted).then(setSharing, (cause: unknown) => onProblem(lineOf(cause)));
  };
  const memory = sharing?.memoryBytes ?? null;
  const choices = GIGABYTES.map((gigabytes) => gigabytes * 1e9).filter((bytes) => total === 0 || bytes <= total);
  const toggle = (name: string, isOn: boolean, onChange: (on: boolean) => void) => (
    <input
      type="checkbox"
      aria-label={name}
      checked={isOn}
      disabled={sharing === null}
      onChange={({ target }) => onChange(target.checked)}
    />
  );
  return (
    <section className="card settings" aria-label="Sharing">
      <h2>Sharing</h2>
      <Setting title="Memory for models" about="What this machine gives to all models together.">
        <select
          className="select"
          aria-label="Memory for models"
          disabled={sharing === null}
          value={memory ?? ''}
          onChange={({ target }) => change({ memoryBytes: target.value === '' ? null : Number(target.value) })}
        >
          <option value="">What is free</option>
          {choicesWith(memory, choices).map((bytes) => (
            <option key={bytes} value={bytes}>
              {formatBytes(bytes)}
            </option>
          ))}
        </select>
      </Setting>
      <Setting title="Pause on battery" about="It shares again when it is plugged in.">
        {toggle('Pause on battery', sharing?.manners.battery.pause ?? false, (battery) => change({ battery }))}
      </Setting>
      <Setting title="Pause when it is hot" about={heatLine(sharing)}>
        {toggle('Pause when it is hot', sharing?.manners.heat.pause ?? false, (heat) => change({ heat }))}
      </Setting>
      <Setting title="Pause for other programs" about="While one of them, such as a game, wants the graphics card.">
        {toggle('Pause for other programs', sharing?.manners.gpu.pause ?? false, (gpu) => change({ gpu }))}
      </Setting>
    </section>
  );
}

function heatLine(sharing: SharingSettings | null): string {
  if (sharing === null) return 'It shares again when it has cooled down.';
  const { cpuCelsius, gpuCelsius } = sharing.manners.heat;
  return `From ${cpuCelsius} °C of its processor or ${gpuCelsius} °C of its graphics card on.`;
}
