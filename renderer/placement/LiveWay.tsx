import type { EdgeProps } from '@xyflow/react';
import { formatMs } from '../controls/formatMs.ts';
import { HopLine } from '../planner/graph/HopLine.tsx';
import type { WayEdge } from './LiveGraph.tsx';

/** One way of a token: its measured time, the predicted one beside it, and whether something travels. */
export function LiveWay({ source, target, data }: EdgeProps<WayEdge>) {
  if (data === undefined) return null;
  const { hop, boxes, bend, flows } = data;
  const [from, to] = [boxes.get(source), boxes.get(target)];
  if (from === undefined || to === undefined) return null;
  const { carries, color, pace } = hop;
  const predicted = pace === null ? '' : `${formatMs(pace.predictedMs)} predicted`;
  const measured = pace === null || pace.measuredMs === null ? null : formatMs(pace.measuredMs);
  return (
    <HopLine
      {...{ from, to, carries, color, flows }}
      {...(bend !== null && { bend })}
      label={measured ?? predicted}
      {...(measured !== null && { beneath: predicted })}
    />
  );
}
