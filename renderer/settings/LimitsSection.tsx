import { useEffect, useState } from 'react';
import type { LibrarySettings, LimitsChange } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { lineOf } from '../controls/lineOf.ts';
import { callMember, useMember } from '../member/memberStore.ts';
import { choicesWith } from './choicesWith.ts';
import { Setting } from './Setting.tsx';

const DISK_GB = [10, 20, 50, 100, 200, 500, 1000];
const MB_PER_SECOND = [5, 10, 25, 50, 100, 250];
const PERCENT = [5, 10, 25, 50, 100];

/** What models may take of this machine. */
export function LimitsSection({ onProblem }: { onProblem: (line: string) => void }) {
  const open = useMember(({ connection }) => connection === 'open');
  const [limits, setLimits] = useState<LibrarySettings | null>(null);
  useEffect(() => {
    if (open) callMember('limits', {}).then(setLimits, (cause: unknown) => onProblem(lineOf(cause)));
  }, [open, onProblem]);
  const change = (wanted: LimitsChange) => {
    callMember('changeLimits', wanted).then(setLimits, (cause: unknown) => onProblem(lineOf(cause)));
  };
  const select = (name: string, { value, choices, none, words }: Choice, onChange: (value: number | null) => void) => (
    <select
      className="select"
      aria-label={name}
      disabled={limits === null}
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value === '' ? null : Number(target.value))}
    >
      {none !== null && <option value="">{none}</option>}
      {choicesWith(value, choices).map((each) => (
        <option key={each} value={each}>
          {words(each)}
        </option>
      ))}
    </select>
  );
  const disk = {
    value: limits?.diskBytes ?? null,
    choices: DISK_GB.map((gigabytes) => gigabytes * 1e9),
    none: 'A fifth of the disk',
    words: formatBytes,
  };
  const speed = {
    value: limits?.bytesPerSecond ?? null,
    choices: MB_PER_SECOND.map((megabytes) => megabytes * 1e6),
    none: 'No limit',
    words: (bytes: number) => `${formatBytes(bytes)}/s`,
  };
  const share = {
    value: limits === null ? null : Math.round(limits.loadedShare * 100),
    choices: PERCENT,
    none: null,
    words: (percent: number) => `${percent} %`,
  };
  return (
    <section className="card settings" aria-label="Models on this machine">
      <h2>Models on this machine</h2>
      <Setting title="Disk for parts of models" about="What others sent; the longest unused goes first.">
        {select('Disk for parts of models', disk, (diskBytes) => change({ diskBytes }))}
      </Setting>
      <Setting title="Speed between members" about="At which models travel, in each direction.">
        {select('Speed between members', speed, (bytesPerSecond) => change({ bytesPerSecond }))}
      </Setting>
      <Setting title="Beside an answer" about="Time that giving models away may take while this machine computes.">
        {select('Beside an answer', share, (percent) => percent !== null && change({ loadedShare: percent / 100 }))}
      </Setting>
    </section>
  );
}

interface Choice {
  value: number | null;
  choices: readonly number[];
  /** What null is called; null where there must be a number. */
  none: string | null;
  words: (value: number) => string;
}
