import type { NodeProps } from '@xyflow/react';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { Anchors } from '../planner/graph/Anchors.tsx';
import { MemoryBar } from '../planner/graph/MemoryBar.tsx';
import type { CardNode } from './LiveGraph.tsx';
import type { LiveMember, LiveStage } from './liveRoom.ts';
import { paceOf } from './paceOf.ts';

const PADDING = 12; // px, as in the style sheet

/** One machine of a pipeline's room: its memory with the layers in it, and how long they take. */
export function LiveCard({ data: { member } }: NodeProps<CardNode>) {
  const { name, width, drives, stage, note, memoryBytes, elsewhereBytes } = member;
  return (
    <div className="member-node live-card" data-idle={stage === null} data-problem={isGone(member)} style={{ width }}>
      <Anchors />
      <p className="member-node-head">
        <strong title={name}>{name}</strong>
        {drives && (
          <span className="badge" data-tone="accent" title="Takes its requests and schedules them">
            drives
          </span>
        )}
      </p>
      <MemoryBar view={barOf(member)} width={width - 2 * PADDING - 2} />
      <Line text={stage === null ? capital(note ?? '') : layersLine(stage)} />
      {stage !== null && <Line text={paceLine(stage, note)} />}
      <Line text={`${formatBytes(memoryBytes)} shared`} />
      {stage === null && elsewhereBytes > 0 && <Line text={`${formatBytes(elsewhereBytes)} for other models`} />}
    </div>
  );
}

function Line({ text }: { text: string }) {
  return (
    <p className="member-node-line" title={text}>
      {text}
    </p>
  );
}

function isGone({ stage, note }: LiveMember): boolean {
  return stage !== null && note !== null;
}

/** What other models take is drawn with the buffers: it is not of this one. */
function barOf({ memoryBytes, elsewhereBytes, stage }: LiveMember) {
  const { bytes, weightBytes, kvBytes, startLayer, endLayer, color } = stage ?? nothing;
  const otherBytes = bytes - weightBytes - kvBytes + elsewhereBytes;
  return { memoryBytes, weightBytes, kvBytes, otherBytes, plainRamBytes: 0, startLayer, endLayer, color };
}

const nothing = { bytes: 0, weightBytes: 0, kvBytes: 0, startLayer: 0, endLayer: 0, color: 0 };

function layersLine({ startLayer, endLayer, bytes }: LiveStage): string {
  const layers = endLayer - startLayer === 1 ? `layer ${startLayer}` : `layers ${startLayer}–${endLayer - 1}`;
  return `${layers} · ${formatBytes(bytes)}`;
}

function paceLine({ pace }: LiveStage, note: string | null): string {
  if (note !== null) return capital(note);
  return pace === null ? '' : paceOf(pace);
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
