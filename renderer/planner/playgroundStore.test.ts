import { beforeEach, expect, test } from 'vitest';
import { startHistory } from './history.ts';
import {
  addMember,
  arranged,
  changeMember,
  compare,
  endGesture,
  moveMember,
  removeMember,
  swapCompared,
  undoChange,
  usePlayground,
} from './playgroundStore.ts';
import { memberViews } from './scenario/memberView.ts';
import { exampleScenario } from './scenario/scenario.ts';

const present = () => usePlayground.getState().history.present;
const names = () => present().question.members.map(({ name }) => name);
const layersOf = (id: string) => {
  const view = memberViews(present().question).get(id);
  return view === undefined ? 0 : view.endLayer - view.startLayer;
};

beforeEach(() =>
  usePlayground.setState({ history: startHistory(arranged(exampleScenario())), selected: null, compared: null }),
);

test('more memory on a member moves layers to it, and undo moves them back', () => {
  const before = layersOf('m2');
  for (const gigabytes of [40, 44, 54]) changeMember('m2', { memoryBytes: gigabytes * 1e9 }, 'memory m2');
  endGesture();
  expect(layersOf('m2')).not.toBe(before);
  undoChange();
  expect(layersOf('m2')).toBe(before);
});

test('moving a member plans nothing anew', () => {
  const { question } = present();
  moveMember('m1', { x: 5, y: 6 });
  expect(present().question).toBe(question);
  expect(present().positions.m1).toEqual({ x: 5, y: 6 });
});

test('members come and go, each with a place and an id of its own', () => {
  addMember();
  addMember();
  removeMember('m5');
  addMember();
  expect(names().slice(-2)).toEqual(['machine-6', 'machine-7']);
  const { question, positions } = present();
  expect(Object.keys(positions).sort()).toEqual(question.members.map(({ id }) => id).sort());
  const places = Object.values(positions).map(({ x, y }) => `${x} ${y}`);
  expect(new Set(places).size).toBe(places.length);
});

test('the kept plan stays while the other changes, and they can change places', () => {
  compare(true);
  removeMember('m2');
  expect(usePlayground.getState().compared?.question.members).toHaveLength(4);
  swapCompared();
  expect(names()).toContain('macbook');
  expect(usePlayground.getState().compared?.question.members).toHaveLength(3);
});
