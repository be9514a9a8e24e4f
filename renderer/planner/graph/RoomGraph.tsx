import { Background, type NodeChange, ReactFlow, type ReactFlowInstance } from '@xyflow/react';
import { useEffect, useMemo, useRef } from 'react';
import { IconButton } from '../../controls/IconButton.tsx';
import { endGesture, moveMember, select, showRoom, usePlayground } from '../playgroundStore.ts';
import { ArrowHeads } from './ArrowHeads.tsx';
import { HopEdge } from './HopEdge.tsx';
import { type HopEdge as HopEdgeType, hopEdges, sameEdge } from './hopEdges.ts';
import { LeastText } from './LeastText.tsx';
import { MemberNode, type MemberNodeType } from './MemberNode.tsx';
import { magnification } from './magnification.ts';
import { reuse } from './reuse.ts';
import { roomNodes, sameNode } from './roomNodes.ts';
import '@xyflow/react/dist/base.css';
import './RoomGraph.css';

const nodeTypes = { member: MemberNode };
const edgeTypes = { hop: HopEdge };
const pro = { hideAttribution: true };

/** The room as a graph: members that can be dragged, and the hops between them. */
export function RoomGraph() {
  const nodes = useNodes();
  const edges = useEdges();
  const flow = useRef<ReactFlowInstance<MemberNodeType, HopEdgeType> | null>(null);
  const count = nodes.length;
  const firstFit = useMemo(wholeRoom, []);
  const shown = usePlayground((store) => store.shown);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever joins should be seen, and a room in a new order
  useEffect(() => {
    void flow.current?.fitView(wholeRoom());
  }, [count, shown]);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (frame.current === null) return;
    // One picture later, when the graph knows its new size too.
    const sizes = new ResizeObserver(() => requestAnimationFrame(() => void flow.current?.fitView(wholeRoom())));
    sizes.observe(frame.current);
    return () => sizes.disconnect();
  }, []);
  return (
    <div className="room-view">
      <div className="room-graph" ref={frame}>
        <ArrowHeads />
        <ReactFlow<MemberNodeType, HopEdgeType>
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          edgeTypes={edgeTypes}
          onInit={(instance) => {
            flow.current = instance;
          }}
          onNodesChange={onNodesChange}
          onNodeDragStop={endGesture}
          onNodeClick={onNodeClick}
          onPaneClick={unselect}
          fitView
          fitViewOptions={firstFit}
          minZoom={0.3}
          maxZoom={3}
          nodesConnectable={false}
          elementsSelectable
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          proOptions={pro}
          aria-label="The room: members and hops"
        >
          <LeastText frame={frame} />
          <Background gap={22} size={1.2} />
        </ReactFlow>
      </div>
      <div className="view-buttons">
        <IconButton icon="minus" label="Smaller" onClick={() => void flow.current?.zoomOut()} />
        <IconButton icon="plus" label="Larger" onClick={() => void flow.current?.zoomIn()} />
        <IconButton icon="whole" label="Show the whole room" onClick={showRoom} />
      </div>
    </div>
  );
}

/** The whole room, its cards not larger than what stands around them. */
function wholeRoom() {
  return { padding: 0.12, maxZoom: 1.1 * magnification(), minZoom: 0.4 };
}

const unselect = () => select(null);

/** The library tells of a choice only where it changes; a click on the card that is chosen asks for its details again. */
function onNodeClick({ target }: { target: EventTarget }, { id }: MemberNodeType): void {
  const uses = target instanceof HTMLInputElement;
  if (!uses && usePlayground.getState().selected === id) select(id);
}

function onNodesChange(changes: NodeChange<MemberNodeType>[]): void {
  for (const change of changes) {
    if (change.type === 'position' && change.position !== undefined) moveMember(change.id, change.position);
    if (change.type === 'select' && change.selected) select(change.id);
  }
}

function useNodes(): MemberNodeType[] {
  const before = useRef<MemberNodeType[]>([]);
  return usePlayground(({ history, selected }) => {
    before.current = reuse(before.current, roomNodes(history.present, selected), sameNode);
    return before.current;
  });
}

function useEdges(): HopEdgeType[] {
  const before = useRef<HopEdgeType[]>([]);
  return usePlayground(({ history }) => {
    before.current = reuse(before.current, hopEdges(history.present.question), sameEdge);
    return before.current;
  });
}
