import { expect, test } from 'vitest';
import { ConnectionGate } from './connectionGate.ts';

test('a flood from one address makes its own connections give way, the oldest first', () => {
  const gate = new ConnectionGate<string>(3);
  expect(gate.enter('friend', 'f1')).toBeNull();
  expect(gate.enter('flood', 'a')).toBeNull();
  expect(gate.enter('flood', 'b')).toBeNull();
  expect(gate.enter('flood', 'c')).toBe('a');
  expect(gate.enter('flood', 'd')).toBe('b');
  expect(gate.count).toBe(3);
});

test('who is vouched for, or gone, makes room; saying so twice counts once', () => {
  const gate = new ConnectionGate<string>(2);
  gate.enter('x', 'a');
  gate.enter('x', 'b');
  gate.leave('x', 'a');
  gate.leave('x', 'a');
  expect(gate.count).toBe(1);
  expect(gate.enter('x', 'c')).toBeNull();
  expect(gate.enter('x', 'd')).toBe('b');
});
