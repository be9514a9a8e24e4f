import { expect, test } from 'vitest';
import { againRequest } from './againRequest.ts';

const member = (name: string, state: 'alive' | 'lost' = 'alive') => ({
  id: `id-${name}`,
  name,
  address: `${name}:1`,
  state,
});
const room = [member('desk'), member('lap', 'lost'), member('attic')];
const asked = { model: 'm', contextLength: 2048, slots: 2, kvType: 'q8_0', policy: 'proportional' } as const;

test('all is asked for as before while everybody is there', () => {
  const request = { ...asked, members: ['desk', 'attic', 'another'], force: 'cluster' } as const;
  expect(againRequest(request, room)).toBe(request);
  expect(againRequest(asked, room)).toBe(asked);
});

test.each([['lap'], ['id-lap'], ['lap:1'], [{ id: 'id-lap', address: 'elsewhere:2' }]] as const)(
  'who is away is left out, called %j',
  (called) => {
    expect(againRequest({ ...asked, members: ['desk', called, 'attic'], force: 'cluster' }, room)).toEqual({
      ...asked,
      members: ['desk', 'attic'],
      force: 'cluster',
    });
  },
);

test('one that is left serves alone, and nobody left leaves it to the planner', () => {
  expect(againRequest({ ...asked, members: ['desk', 'lap'], force: 'cluster' }, room)).toEqual({
    ...asked,
    members: ['desk'],
  });
  expect(againRequest({ ...asked, members: ['lap'], force: 'single' }, room)).toEqual({ ...asked, force: 'single' });
});
