import { type NodeHandle, Position as Side } from '@xyflow/react';
import { arrange, MOST_WIDTH, NODE_HEIGHT } from '../arrange.ts';
import type { Scenario } from '../scenario/scenario.ts';
import type { MemberNodeType } from './MemberNode.tsx';

const size = { width: MOST_WIDTH, height: NODE_HEIGHT };
const handles = cardHandles(MOST_WIDTH, NODE_HEIGHT);

/** Where ways begin and end in a card of that size, said beforehand, so that the library has nothing to measure. */
export function cardHandles(width: number, height: number): NodeHandle[] {
  const middle = { x: width / 2, y: height / 2, width: 1, height: 1, position: Side.Bottom };
  return [
    { ...middle, type: 'source' },
    { ...middle, type: 'target' },
  ];
}

/**
 * The members as nodes of the graph. All have one size, said beforehand, in which a card takes the width that it wants: so the
 * library has nothing to measure while memory is dragged.
 */
export function roomNodes({ question, positions }: Scenario, selected: string | null): MemberNodeType[] {
  const fallback = question.members.some(({ id }) => positions[id] === undefined) ? arrange(question) : {};
  return question.members.map(({ id, name }) => ({
    id,
    type: 'member',
    position: positions[id] ?? fallback[id] ?? { x: 0, y: 0 },
    data: {},
    ...size,
    measured: size,
    selected: id === selected,
    ariaLabel: name,
    handles,
    // Only the card is there for the mouse, not the room that a wider one would take.
    style: { pointerEvents: 'none' },
  }));
}

export function sameNode(a: MemberNodeType, b: MemberNodeType): boolean {
  return (
    a.position.x === b.position.x &&
    a.position.y === b.position.y &&
    a.selected === b.selected &&
    a.ariaLabel === b.ariaLabel
  );
}
