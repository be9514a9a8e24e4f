import { type EdgeProps, useInternalNode } from '@xyflow/react';
import { memo } from 'react';
import { formatMs } from '../../controls/formatMs.ts';
import { NODE_HEIGHT, nodeWidth } from '../arrange.ts';
import { usePlayground } from '../playgroundStore.ts';
import { memberViews } from '../scenario/memberView.ts';
import type { Box } from './edgePath.ts';
import { HopLine } from './HopLine.tsx';
import type { HopEdge as HopEdgeType } from './hopEdges.ts';

/** One hop with its milliseconds; token ids go along a thin bent line. */
export const HopEdge = memo(function HopEdge({ source, target, data }: EdgeProps<HopEdgeType>) {
  const from = useBox(source);
  const to = useBox(target);
  if (from === null || to === null || data === undefined) return null;
  return <HopLine from={from} to={to} carries={data.carries} color={data.color} label={formatMs(data.ms)} />;
});

/** Where a member's card is, which is as wide as its memory wants. */
function useBox(id: string): Box | null {
  const node = useInternalNode(id);
  const width = usePlayground(({ history }) => {
    const view = memberViews(history.present.question).get(id);
    return view === undefined ? null : nodeWidth(view.memoryBytes);
  });
  if (node === undefined || width === null) return null;
  const { x, y } = node.internals.positionAbsolute;
  return { x, y, width, height: NODE_HEIGHT };
}
