import { Background, type NodeChange, ReactFlow, type ReactFlowInstance, Position as Side } from '@xyflow/react';
import { useEffect, useMemo, useRef } from 'react';
import { arrange, NODE_HEIGHT, nodeWidth } from '../arrange.ts';
import { endGesture, moveMember, select, usePlayground } from '../playgroundStore.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { HopEdge } from './HopEdge.tsx';
import { type HopEdge as HopEdgeType, hopEdges } from './hopEdges.ts';
import { MemberNode, type MemberNodeType } from './MemberNode.tsx';
import { reuse } from './reuse.ts';
import '@xyflow/react/dist/base.css';
import './RoomGraph.css';

const nodeTypes = { member: MemberNode };
const edgeTypes = { hop: HopEdge };
const fit = { padding: 0.12, maxZoom: 1.1, minZoom: 0.4 };
const pro = { hideAttribution: true };
const colors = [0, 1, 2, 3, 4, 5];

/** The room as a graph: members that can be dragged, and the hops between them. */
export function RoomGraph() {
  const scenario = usePlayground(({ history }) => history.present);
  const selected = usePlayground((store) => store.selected);
  const nodes = useNodes(scenario, selected);
  const edges = useEdges(scenario);
  const flow = useRef<ReactFlowInstance<MemberNodeType, HopEdgeType> | null>(null);
  const count = scenario.question.members.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever joins should be seen
  useEffect(() => {
    void flow.current?.fitView(fit);
  }, [count]);
  return (
    <div className="room-graph">
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
        onPaneClick={unselect}
        fitView
        fitViewOptions={fit}
        minZoom={0.3}
        maxZoom={2}
        nodesConnectable={false}
        elementsSelectable
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
        proOptions={pro}
        aria-label="The room: members and hops"
      >
        <Background gap={22} size={1.2} />
      </ReactFlow>
    </div>
  );
}

const unselect = () => select(null);

function onNodesChange(changes: NodeChange<MemberNodeType>[]): void {
  for (const change of changes) {
    if (change.type === 'position' && change.position !== undefined) moveMember(change.id, change.position);
    if (change.type === 'select' && change.selected) select(change.id);
  }
}

function useNodes({ question, positions }: Scenario, selected: string | null): MemberNodeType[] {
  const before = useRef<MemberNodeType[]>([]);
  return useMemo(() => {
    const fallback = question.members.some(({ id }) => positions[id] === undefined) ? arrange(question) : {};
    const next = question.members.map(({ id, name, memoryBytes }): MemberNodeType => {
      const width = nodeWidth(memoryBytes);
      const middle = { x: width / 2, y: NODE_HEIGHT / 2, width: 1, height: 1, position: Side.Bottom };
      return {
        id,
        type: 'member',
        position: positions[id] ?? fallback[id] ?? { x: 0, y: 0 },
        data: {},
        width,
        height: NODE_HEIGHT,
        selected: id === selected,
        ariaLabel: name,
        handles: [
          { ...middle, type: 'source' },
          { ...middle, type: 'target' },
        ],
      };
    });
    before.current = reuse(before.current, next, sameNode);
    return before.current;
  }, [question, positions, selected]);
}

function sameNode(a: MemberNodeType, b: MemberNodeType): boolean {
  return (
    a.position.x === b.position.x &&
    a.position.y === b.position.y &&
    a.width === b.width &&
    a.selected === b.selected &&
    a.ariaLabel === b.ariaLabel
  );
}

function useEdges({ question }: Scenario): HopEdgeType[] {
  const before = useRef<HopEdgeType[]>([]);
  return useMemo(() => {
    before.current = reuse(before.current, hopEdges(question), sameEdge);
    return before.current;
  }, [question]);
}

function sameEdge(a: HopEdgeType, b: HopEdgeType): boolean {
  return a.data?.ms === b.data?.ms && a.data?.color === b.data?.color;
}

function ArrowHeads() {
  return (
    <svg className="arrow-heads" aria-hidden="true">
      <defs>
        {['tokens', ...colors].map((color) => (
          <marker
            key={color}
            id={`hop-arrow-${color}`}
            className={color === 'tokens' ? 'arrow-tokens' : `band-${color}`}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerUnits="userSpaceOnUse"
            markerWidth="11"
            markerHeight="11"
            orient="auto"
          >
            <path d="M0 0.5L8 4L0 7.5z" />
          </marker>
        ))}
      </defs>
    </svg>
  );
}
