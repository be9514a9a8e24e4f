import { Background, type Edge, type Node, ReactFlow } from '@xyflow/react';
import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import { cardHandles } from '../planner/graph/roomNodes.ts';
import { LiveCard } from './LiveCard.tsx';
import { LiveWay } from './LiveWay.tsx';
import { CARD_HEIGHT, type Layout, layOut } from './layOut.ts';
import type { LiveHop, LiveMember, LiveRoom } from './liveRoom.ts';
import '@xyflow/react/dist/base.css';
import '../planner/graph/RoomGraph.css';

export type CardNode = Node<{ member: LiveMember }, 'card'>;
export type WayEdge = Edge<{ hop: LiveHop; boxes: Layout['boxes']; bend: number | null; flows: boolean }, 'way'>;

const nodeTypes = { card: LiveCard };
const edgeTypes = { way: LiveWay };
const pro = { hideAttribution: true };
const still = { x: 0, y: 0, zoom: 1 };

interface LiveGraphProps {
  /** Of the picture; no other one of the page has it. */
  id: string;
  room: LiveRoom;
  /** Whether tokens travel. */
  flows: boolean;
  label: string;
}

/** The room as the playground draws it, as it is: to look at, as wide as there is room, without a magnification of its own. */
export function LiveGraph({ id, room, flows, label }: LiveGraphProps) {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const layout = useMemo(() => (width === null ? null : layOut(room.members, room.hops, width)), [room, width]);
  return (
    <div className="room-graph live-graph" ref={host} style={{ height: layout?.height ?? CARD_HEIGHT }}>
      {layout !== null && (
        <ReactFlow<CardNode, WayEdge>
          nodes={nodesOf(room, layout)}
          edges={edgesOf(room, layout, flows)}
          nodeTypes={nodeTypes}
          edgeTypes={edgeTypes}
          defaultViewport={still}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          panOnDrag={false}
          zoomOnScroll={false}
          zoomOnPinch={false}
          zoomOnDoubleClick={false}
          preventScrolling={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          proOptions={pro}
          id={id}
          aria-label={label}
        >
          <Background gap={22} size={1.2} />
        </ReactFlow>
      )}
    </div>
  );
}

function nodesOf({ members }: LiveRoom, { boxes }: Layout): CardNode[] {
  return members.flatMap((member): CardNode[] => {
    const box = boxes.get(member.id);
    if (box === undefined) return [];
    const size = { width: box.width, height: box.height };
    return [
      {
        id: member.id,
        type: 'card',
        position: { x: box.x, y: box.y },
        data: { member },
        ...size,
        measured: size,
        handles: cardHandles(size.width, size.height),
      },
    ];
  });
}

function edgesOf({ hops }: LiveRoom, { boxes, bendOf }: Layout, flows: boolean): WayEdge[] {
  return hops.map((hop) => ({
    id: `${hop.carries} ${hop.from} ${hop.to}`,
    type: 'way',
    source: hop.from,
    target: hop.to,
    data: { hop, boxes, bend: hop.carries === 'tokens' ? bendOf(hop) : null, flows },
  }));
}

/** Of an element, in its own pixels; null before it is there. */
function useWidth(host: React.RefObject<HTMLElement | null>): number | null {
  const [width, setWidth] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = host.current;
    if (element === null) return;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    return () => sizes.disconnect();
  }, [host]);
  return width;
}
