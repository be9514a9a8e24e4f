import { formatMs } from '../../controls/formatMs.ts';
import { RangeField } from '../../controls/RangeField.tsx';
import { Segments } from '../../controls/Segments.tsx';
import { ask, endGesture, useAsked } from '../playgroundStore.ts';

const rates = [
  { name: 'Wi-Fi, 300 Mbit/s', bytesPerSecond: 37e6 },
  { name: 'Gigabit Ethernet', bytesPerSecond: 117e6 },
  { name: '2.5 Gigabit', bytesPerSecond: 290e6 },
  { name: '10 Gigabit', bytesPerSecond: 1.17e9 },
];

/** What the planner is to aim for, and the network between the members. */
export function PolicyPanel() {
  const { policy, force, replicas, plainRam, network } = useAsked('policy', 'force', 'replicas', 'plainRam', 'network');
  return (
    <>
      <section className="panel-section" aria-label="Plan">
        <h2>Plan</h2>
        <Segments
          label="Policy"
          value={policy}
          choices={[
            { value: 'hop-minimal', name: 'Fewest hops' },
            { value: 'proportional', name: 'Everyone' },
          ]}
          onChange={(value) => ask({ policy: value })}
        />
        <Segments
          label="Members"
          value={force ?? 'free'}
          choices={[
            { value: 'free', name: 'Any' },
            { value: 'single', name: 'One' },
            { value: 'cluster', name: 'Several' },
          ]}
          onChange={(value) => ask({ force: value === 'free' ? null : value })}
        />
        <RangeField
          label="Pipelines"
          value={replicas ?? 0}
          min={0}
          max={6}
          step={1}
          text={replicas === null ? 'as fit' : String(replicas)}
          onChange={(value) => ask({ replicas: value === 0 ? null : value }, 'replicas')}
          onSettled={endGesture}
        />
        <Segments
          label="Plain RAM"
          value={plainRam}
          choices={[
            { value: 'last-resort', name: 'If needed' },
            { value: 'always', name: 'Always' },
            { value: 'never', name: 'Never' },
          ]}
          onChange={(value) => ask({ plainRam: value })}
        />
      </section>
      <section className="panel-section" aria-label="Network">
        <h2>Network</h2>
        <RangeField
          label="Round trip"
          value={Math.log10(network.rttMs)}
          min={-1}
          max={2}
          step={0.05}
          text={formatMs(network.rttMs)}
          onChange={(value) => ask({ network: { ...network, rttMs: 10 ** value } }, 'round trip')}
          onSettled={endGesture}
        />
        <label className="field">
          <span className="field-head">Throughput</span>
          <select
            className="select"
            value={network.bytesPerSecond}
            onChange={(event) => ask({ network: { ...network, bytesPerSecond: Number(event.target.value) } })}
          >
            {rates.every(({ bytesPerSecond }) => bytesPerSecond !== network.bytesPerSecond) && (
              <option value={network.bytesPerSecond}>{Math.round(network.bytesPerSecond / 1e6)} MB/s</option>
            )}
            {rates.map(({ name, bytesPerSecond }) => (
              <option key={name} value={bytesPerSecond}>
                {name}
              </option>
            ))}
          </select>
          <span className="field-hint">Of every pair that was not measured.</span>
        </label>
      </section>
    </>
  );
}
