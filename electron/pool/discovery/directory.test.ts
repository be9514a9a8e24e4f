import { expect, test } from 'vitest';
import { addSighting, type Directory, foundMembers, keepSightings, removeMember, type Sighting } from './directory.ts';

function sighting(from: string, change: Partial<Sighting> = {}): Sighting {
  const candidates = [{ address: `${from}:1`, medium: 'unknown' }] as const;
  return { from, card: 'eth0', at: 0, build: 'b1', run: 'r1', edition: 1, candidates, ...change };
}

function addressesOf(directory: Directory, id: string): string[] | undefined {
  return foundMembers(directory, [])
    .get(id)
    ?.candidates.map(({ address }) => address);
}

test('a member is known by every address it was heard from, in an order of its own', () => {
  const one = addSighting(new Map(), 'm', sighting('10.0.0.1'));
  const both = addSighting(one, 'm', sighting('10.0.0.2', { card: 'eth1' }));
  expect(addressesOf(both, 'm')).toEqual(['10.0.0.1:1', '10.0.0.2:1']);
  const again = addSighting(both, 'm', sighting('10.0.0.1', { at: 9 }));
  expect(foundMembers(again, [])).toEqual(foundMembers(both, []));
  expect(addressesOf(one, 'm')).toEqual(['10.0.0.1:1']);
});

test('a newer edition or run replaces what was said before; an older edition that comes late is nothing', () => {
  const old = addSighting(new Map(), 'm', sighting('10.0.0.1'));
  const moved = addSighting(old, 'm', sighting('10.0.0.2', { edition: 2 }));
  expect(addressesOf(moved, 'm')).toEqual(['10.0.0.2:1']);
  expect(addSighting(moved, 'm', sighting('10.0.0.1'))).toBe(moved);
  const restarted = addSighting(moved, 'm', sighting('10.0.0.3', { run: 'r2', build: 'b2' }));
  expect(foundMembers(restarted, []).get('m')).toMatchObject({ build: 'b2', candidates: [{ address: '10.0.0.3:1' }] });
});

test('what is old or came by a card that is gone is forgotten, and so is who says goodbye', () => {
  let directory = addSighting(new Map(), 'm', sighting('10.0.0.1', { at: 5 }));
  directory = addSighting(directory, 'm', sighting('10.0.0.2', { at: 9, card: 'eth1' }));
  directory = addSighting(directory, 'n', sighting('10.0.0.3', { at: 5 }));
  const cards = new Set(['eth0', 'eth1']);
  expect([...keepSightings(directory, { cards, since: 9 }).keys()]).toEqual(['m']);
  expect(addressesOf(keepSightings(directory, { cards: new Set(['eth0']), since: 0 }), 'm')).toEqual(['10.0.0.1:1']);
  expect([...removeMember(directory, 'm').keys()]).toEqual(['n']);
});

test('noise does not grow it without bound', () => {
  let directory: Directory = new Map();
  for (let n = 0; n < 1500; n += 1) directory = addSighting(directory, `m${n}`, sighting('10.0.0.1'));
  for (let n = 0; n < 50; n += 1) directory = addSighting(directory, 'm0', sighting(`10.0.1.${n}`));
  expect(directory.size).toBe(1000);
  expect(directory.get('m0')).toHaveLength(16);
});
