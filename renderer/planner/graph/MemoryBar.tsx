import type { MemberView } from '../scenario/memberView.ts';

const LEAST_CELL = 2; // px; of narrower ones one would see the gaps alone

type Shown = Pick<
  MemberView,
  'memoryBytes' | 'weightBytes' | 'kvBytes' | 'otherBytes' | 'plainRamBytes' | 'startLayer' | 'endLayer' | 'color'
>;

/** The memory of a member from left to right: weights with a notch for every layer, KV, buffers, and what is free. */
export function MemoryBar({ view, width }: { view: Shown; width: number }) {
  const { memoryBytes, weightBytes, kvBytes, otherBytes, plainRamBytes, color } = view;
  const whole = Math.max(memoryBytes + plainRamBytes, weightBytes + kvBytes + otherBytes, 1);
  const share = (bytes: number) => `${((bytes / whole) * 100).toFixed(2)}%`;
  const layers = view.endLayer - view.startLayer;
  const cell = layers === 0 ? 0 : (weightBytes / whole) * (width / layers);
  return (
    <div className={`memory-bar band-${color}`} aria-hidden="true">
      <span
        className="memory-weights"
        style={{ width: share(weightBytes), backgroundSize: `${cell < LEAST_CELL ? 1000 : cell}px 100%` }}
      />
      <span className="memory-kv" style={{ width: share(kvBytes) }} />
      <span className="memory-other" style={{ width: share(otherBytes) }} />
    </div>
  );
}
