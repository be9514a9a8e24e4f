import { create } from 'zustand';
import { useShallow } from 'zustand/react/shallow';
import { arrange, COLUMN, ROW } from './arrange.ts';
import { type History, record, redo, settle, startHistory, undo } from './history.ts';
import {
  exampleScenario,
  IMAGINED_BUILD,
  imaginedMember,
  type Position,
  type Question,
  type RoomMember,
  type Scenario,
} from './scenario/scenario.ts';

interface PlaygroundStore {
  history: History<Scenario>;
  /** The member whose details are open. */
  selected: string | null;
  /** Grows whenever somebody asks for the details of a member, also of the one whose details are open. */
  asked: number;
  /** Grows whenever the whole room should be seen again. */
  shown: number;
  /** The plan that the present one is compared with. */
  compared: Scenario | null;
  /** What went wrong with the last thing that concerned the room as a whole, for people. */
  problem: string | null;
}

export const usePlayground = create<PlaygroundStore>()(() => ({
  history: startHistory(arranged(exampleScenario())),
  selected: null,
  asked: 0,
  shown: 0,
  compared: null,
  problem: null,
}));

/** Some fields of the question; the component is drawn again only when one of them changes. */
export function useAsked<K extends keyof Question>(...fields: K[]): Pick<Question, K> {
  return usePlayground(
    useShallow(({ history }) => {
      const { question } = history.present;
      return Object.fromEntries(fields.map((field) => [field, question[field]])) as Pick<Question, K>;
    }),
  );
}

const { getState: get, setState: set } = usePlayground;

/** Gives every member without one a place; where none has one, the whole room is arranged. */
export function arranged(scenario: Scenario): Scenario {
  const missing = scenario.question.members.some(({ id }) => scenario.positions[id] === undefined);
  return missing ? { ...scenario, positions: { ...arrange(scenario.question), ...scenario.positions } } : scenario;
}

function change(next: (scenario: Scenario) => Scenario, gesture: string | null = null): void {
  // What went wrong concerned the room before the change.
  set(({ history }) => ({ history: record(history, next(history.present), gesture), problem: null }));
}

/** Changes what is asked. Changes of one gesture, such as the drag of a slider, are undone at once. */
export function ask(changes: Partial<Question>, gesture: string | null = null): void {
  change((scenario) => ({ ...scenario, question: { ...scenario.question, ...changes } }), gesture);
}

export function changeMember(id: string, changes: Partial<RoomMember>, gesture: string | null = null): void {
  const { members } = get().history.present.question;
  ask({ members: members.map((member) => (member.id === id ? { ...member, ...changes } : member)) }, gesture);
}

export function moveMember(id: string, position: Position): void {
  change((scenario) => ({ ...scenario, positions: { ...scenario.positions, [id]: position } }), `move ${id}`);
}

/** Adds an imagined member beside the others, and opens its details. */
export function addMember(): void {
  const { question, positions } = get().history.present;
  const { members } = question;
  const number = 1 + Math.max(0, ...members.map(({ id }) => Number(/^m(\d+)$/.exec(id)?.[1] ?? 0)));
  const build = members.find(({ real }) => real)?.build ?? members[0]?.build ?? IMAGINED_BUILD;
  const member = imaginedMember(`m${number}`, `machine-${number}`, { build });
  change((scenario) => ({
    question: { ...scenario.question, members: [...members, member] },
    positions: { ...positions, [member.id]: freePlace(Object.values(positions)) },
  }));
  select(member.id);
}

export function removeMember(id: string): void {
  change(({ question, positions: { [id]: _gone, ...positions } }) => ({
    question: {
      ...question,
      members: question.members.filter((member) => member.id !== id),
      links: question.links.filter(({ from, to }) => from !== id && to !== id),
    },
    positions,
  }));
  set({ selected: null });
}

export function arrangeRoom(): void {
  change((scenario) => ({ ...scenario, positions: arrange(scenario.question) }));
  showRoom();
}

/** Brings every member into sight. */
export function showRoom(): void {
  set(({ shown }) => ({ shown: shown + 1 }));
}

/** Opens another scenario; undo brings the present one back. */
export function open(scenario: Scenario): void {
  change(() => arranged(scenario));
  set({ selected: null });
  showRoom();
}

export function endGesture(): void {
  set(({ history }) => ({ history: settle(history) }));
}

export function undoChange(): void {
  set(({ history }) => ({ history: undo(history) }));
}

export function redoChange(): void {
  set(({ history }) => ({ history: redo(history) }));
}

/** Opens the details of a member, or closes them. */
export function select(id: string | null): void {
  set(({ asked }) => ({ selected: id, asked: id === null ? asked : asked + 1 }));
}

/** Keeps the present plan beside the one that changes from now on, or ends the comparison. */
export function compare(on: boolean): void {
  set(({ history }) => ({ compared: on ? history.present : null }));
}

/** Makes the other plan of the comparison the present one. */
export function swapCompared(): void {
  const { compared, history } = get();
  if (compared === null) return;
  set({ compared: history.present, history: record(history, compared) });
}

/** Below everything that stands there. */
function freePlace(positions: readonly Position[]): Position {
  const lowest = Math.max(-Infinity, ...positions.map(({ y }) => y));
  const beside = positions.filter(({ y }) => y === lowest);
  if (beside.length === 0) return { x: 0, y: 0 };
  return beside.length < 4
    ? { x: Math.max(...beside.map(({ x }) => x)) + COLUMN, y: lowest }
    : { x: Math.min(...beside.map(({ x }) => x)), y: lowest + ROW };
}
