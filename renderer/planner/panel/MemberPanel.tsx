import { useEffect, useRef } from 'react';
import { type Backend, backends } from '../../../electron/planner/backend.ts';
import { formatBytes } from '../../../electron/planner/formatBytes.ts';
import { deviceClassOf } from '../../../electron/planner/member.ts';
import { IconButton } from '../../controls/IconButton.tsx';
import { RangeField } from '../../controls/RangeField.tsx';
import { MOST_SLIDER_GB } from '../graph/sliderRange.ts';
import { changeMember, endGesture, removeMember, select, usePlayground } from '../playgroundStore.ts';

const backendNames: Record<Backend, string> = {
  Cuda: 'NVIDIA card (CUDA)',
  Rocm: 'AMD card (ROCm)',
  Metal: 'Apple silicon (Metal)',
  Vulkan: 'Card through Vulkan',
  Sycl: 'Intel card (SYCL)',
  OpenCl: 'Card through OpenCL',
  Musa: 'Moore Threads card (MUSA)',
  Cann: 'Ascend card (CANN)',
  Cpu: 'CPU and plain RAM',
};

/** Everything that can be changed about the member that is selected. */
export function MemberPanel() {
  const member = usePlayground(({ history, selected }) =>
    history.present.question.members.find(({ id }) => id === selected),
  );
  const section = useRef<HTMLElement>(null);
  const shown = member?.id;
  const asked = usePlayground((store) => store.asked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: who asks for the details again wants to see them again
  useEffect(() => {
    if (shown !== undefined) section.current?.scrollIntoView({ block: 'start' });
  }, [shown, asked]);
  if (member === undefined) return null;
  const { id, name, real, backend, memoryBytes, hostMemoryBytes, bandwidth, addedMs } = member;
  const whole = (bytes: number) => formatBytes(bytes).replace('.0 ', ' ');
  const change = (changes: Parameters<typeof changeMember>[1], gesture: string) =>
    changeMember(id, changes, `${gesture} ${id}`);
  return (
    <section ref={section} className="panel-section panel-member" aria-label="Selected member">
      <div className="field-head">
        <h2>{real ? `${name} as it is, or as it could be` : 'Imagined member'}</h2>
        <IconButton icon="close" label="Close the details" onClick={() => select(null)} />
      </div>
      <label className="field">
        <span className="field-head">Name</span>
        <input
          className="text-input"
          value={name}
          maxLength={60}
          onChange={(event) => event.target.value !== '' && change({ name: event.target.value }, 'name')}
          onBlur={endGesture}
        />
      </label>
      <label className="field">
        <span className="field-head">Device</span>
        <select
          className="select"
          value={backend}
          onChange={(event) => {
            const chosen = backends.find((each) => each === event.target.value);
            if (chosen !== undefined) changeMember(id, { backend: chosen, bandwidth: null });
          }}
        >
          {backends.map((each) => (
            <option key={each} value={each}>
              {backendNames[each]}
            </option>
          ))}
        </select>
      </label>
      <RangeField
        label="Memory that it shares"
        value={memoryBytes / 1e9}
        min={1}
        max={Math.max(MOST_SLIDER_GB, memoryBytes / 1e9)}
        step={1}
        text={whole(memoryBytes)}
        onChange={(gigabytes) => change({ memoryBytes: gigabytes * 1e9 }, 'memory')}
        onSettled={endGesture}
      />
      {deviceClassOf({ backend }) === 'gpu' && (
        <RangeField
          label="Plain RAM besides"
          value={hostMemoryBytes / 1e9}
          min={0}
          max={Math.max(256, hostMemoryBytes / 1e9)}
          step={4}
          text={hostMemoryBytes === 0 ? 'none' : whole(hostMemoryBytes)}
          onChange={(gigabytes) => change({ hostMemoryBytes: gigabytes * 1e9 }, 'host memory')}
          onSettled={endGesture}
        />
      )}
      <RangeField
        label="Memory bandwidth"
        value={(bandwidth ?? 0) / 1e9}
        min={0}
        max={Math.max(2000, (bandwidth ?? 0) / 1e9)}
        step={10}
        text={bandwidth === null ? 'as usual' : `${Math.round(bandwidth / 1e9)} GB/s`}
        onChange={(value) => change({ bandwidth: value === 0 ? null : value * 1e9 }, 'bandwidth')}
        onSettled={endGesture}
      />
      <RangeField
        label="Its network adds"
        value={addedMs}
        min={0}
        max={30}
        step={0.5}
        text={`${addedMs} ms`}
        hint="To every round trip: Wi-Fi 2 to 8 ms."
        onChange={(value) => change({ addedMs: value }, 'added')}
        onSettled={endGesture}
      />
      <div>
        <button type="button" className="quiet-button danger" onClick={() => removeMember(id)}>
          Take it off the table
        </button>
      </div>
    </section>
  );
}
