import type { Node, NodeProps } from '@xyflow/react';
import { memo } from 'react';
import { useShallow } from 'zustand/react/shallow';
import { formatBytes } from '../../../electron/planner/formatBytes.ts';
import { formatMs } from '../../controls/formatMs.ts';
import { nodeWidth } from '../arrange.ts';
import { changeMember, endGesture, usePlayground } from '../playgroundStore.ts';
import { type MemberView, memberViews } from '../scenario/memberView.ts';
import { Anchors } from './Anchors.tsx';
import { MemoryBar } from './MemoryBar.tsx';
import { MOST_SLIDER_GB } from './sliderRange.ts';

export type MemberNodeType = Node<Record<string, never>, 'member'>;

const LAYERS = 'layers ';
const PADDING = 12; // px, as in the style sheet

/** One machine on the table: its name, its memory with the layers in it, and a slider to give it more or less. */
export const MemberNode = memo(function MemberNode({ id }: NodeProps<MemberNodeType>) {
  const view = usePlayground(useShallow(({ history }) => memberViews(history.present.question).get(id)));
  const selected = usePlayground((store) => store.selected === id);
  if (view === undefined) return null;
  const { name, included, memoryBytes, leads, idle } = view;
  const width = nodeWidth(memoryBytes);
  const line = lineOf(view);
  return (
    <div className="member-node" data-idle={idle !== null} data-selected={selected} style={{ width }}>
      <Anchors />
      <Head id={id} name={name} included={included} leads={leads} />
      <MemoryBar view={view} width={width - 2 * PADDING - 2} />
      <p className="member-node-line" title={line}>
        {line.startsWith(LAYERS) && <span className="member-node-word">{LAYERS}</span>}
        {line.startsWith(LAYERS) ? line.slice(LAYERS.length) : line}
      </p>
      <Memory id={id} name={name} memoryBytes={memoryBytes} />
    </div>
  );
});

// What follows changes seldom while the plan of a card changes often: a field that is not drawn again costs nothing.

type HeadProps = Pick<MemberView, 'id' | 'name' | 'included' | 'leads'>;

const Head = memo(function Head({ id, name, included, leads }: HeadProps) {
  return (
    <div className="member-node-head">
      <input
        type="checkbox"
        className="nodrag"
        aria-label={`Use ${name}`}
        checked={included}
        onChange={(event) => changeMember(id, { included: event.target.checked })}
      />
      <strong title={name}>{name}</strong>
      {leads && (
        <span className="badge" data-tone="accent" title="Plans, schedules and answers">
          leads
        </span>
      )}
    </div>
  );
});

const Memory = memo(function Memory({ id, name, memoryBytes }: Pick<MemberView, 'id' | 'name' | 'memoryBytes'>) {
  const gigabytes = memoryBytes / 1e9;
  return (
    <label className="member-node-memory nodrag nopan">
      <input
        className="range"
        type="range"
        min={1}
        max={Math.max(MOST_SLIDER_GB, gigabytes)}
        step={1}
        value={gigabytes}
        aria-label={`Memory of ${name}`}
        aria-valuetext={formatBytes(memoryBytes)}
        onChange={(event) => changeMember(id, { memoryBytes: event.target.valueAsNumber * 1e9 }, `memory ${id}`)}
        onPointerUp={endGesture}
        onBlur={endGesture}
      />
      <span className="number">{formatBytes(memoryBytes).replace('.0 ', ' ')}</span>
    </label>
  );
});

function lineOf({ idle, startLayer, endLayer, ms, plainRamBytes }: MemberView): string {
  if (idle !== null) return idle.charAt(0).toUpperCase() + idle.slice(1);
  const layers = endLayer - startLayer === 1 ? `layer ${startLayer}` : `${LAYERS}${startLayer}–${endLayer - 1}`;
  const time = ms === null ? '' : ` · ${formatMs(ms)}`;
  return `${layers}${time}${plainRamBytes > 0 ? ' · partly in RAM' : ''}`;
}
