import { type EdgeProps, type InternalNode, useInternalNode } from '@xyflow/react';
import { memo } from 'react';
import { formatMs } from '../../controls/formatMs.ts';
import { NODE_HEIGHT } from '../arrange.ts';
import { type Box, edgePath } from './edgePath.ts';
import type { HopEdge as HopEdgeType } from './hopEdges.ts';

/** One hop with its milliseconds; token ids go along a thin bent line. */
export const HopEdge = memo(function HopEdge({ source, target, data }: EdgeProps<HopEdgeType>) {
  const from = useInternalNode(source);
  const to = useInternalNode(target);
  if (from === undefined || to === undefined || data === undefined) return null;
  const tokens = data.carries === 'tokens';
  const { path, label } = edgePath(boxOf(from), boxOf(to), tokens);
  return (
    <g className={`hop-edge ${tokens ? 'hop-edge-tokens' : `band-${data.color}`}`}>
      <path d={path} markerEnd={`url(#hop-arrow-${tokens ? 'tokens' : data.color})`} />
      <text x={label.x} y={label.y}>
        {formatMs(data.ms)}
      </text>
    </g>
  );
});

function boxOf({ internals, width }: InternalNode): Box {
  const { x, y } = internals.positionAbsolute;
  return { x, y, width: width ?? 0, height: NODE_HEIGHT };
}
