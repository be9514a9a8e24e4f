import { expect, test } from 'vitest';
import { NoAddressAnswered } from './addressRace.ts';
import type { Candidate } from './discovery/candidate.ts';
import type { Medium } from './discovery/networkCard.ts';
import { PeerRoute } from './peerRoute.ts';
import { VirtualClock } from './testing/virtualClock.ts';

function candidate(address: string, medium: Medium = 'wired'): Candidate {
  return { address, medium };
}

/** A route in a network of which the test says which addresses answer, all after 10 ms. */
function routeIn(reachable: Set<string>) {
  const clock = new VirtualClock();
  const pinned: string[] = [];
  const dialled: string[] = [];
  const route = new PeerRoute({
    clock,
    onPinned: ({ address }) => pinned.push(address),
    dial: (address) => {
      dialled.push(address);
      return new Promise((resolve, reject) => {
        clock.after(10, () => {
          if (reachable.has(address)) resolve({ localHost: 'here', remoteHost: address });
          else reject(new Error('refused'));
        });
      });
    },
  });
  return { route, clock, pinned, dialled };
}

test('the winner stays until it dies, then the others are tried', async () => {
  const reachable = new Set(['a', 'b']);
  const { route, clock, pinned, dialled } = routeIn(reachable);
  route.update([candidate('a'), candidate('b')]);
  await clock.advance(20);
  expect(await route.address()).toBe('a');
  expect(route.pinned).toEqual({ address: 'a', medium: 'wired', localHost: 'here', remoteHost: 'a' });
  route.update([candidate('c'), candidate('a'), candidate('b')]);
  await clock.advance(1000);
  expect(dialled).toEqual(['a']);

  route.died('b');
  expect(await route.address()).toBe('a');
  reachable.delete('a');
  route.died('a');
  const asked = route.address();
  await clock.advance(1000);
  expect(await asked).toBe('b');
  expect(pinned).toEqual(['a', 'b']);
});

test('a cable that is plugged in takes over, a second wireless address does not', async () => {
  const { route, clock, pinned } = routeIn(new Set(['air', 'air2', 'cable']));
  route.update([candidate('air', 'wireless')]);
  await clock.advance(20);
  route.update([candidate('air2', 'wireless'), candidate('air', 'wireless')]);
  await clock.advance(20);
  expect(pinned).toEqual(['air']);
  route.update([candidate('cable'), candidate('air', 'wireless')]);
  expect(await route.address()).toBe('air');
  await clock.advance(20);
  expect(pinned).toEqual(['air', 'cable']);
});

test('an address that does not answer takes nothing over', async () => {
  const { route, clock, pinned } = routeIn(new Set(['air']));
  route.update([candidate('air', 'wireless')]);
  await clock.advance(20);
  route.update([candidate('cable'), candidate('air', 'wireless')]);
  await clock.advance(1000);
  expect(pinned).toEqual(['air']);
  expect(await route.address()).toBe('air');
});

test('without an answer the caller is told why, and an address that turns up is tried at once', async () => {
  const reachable = new Set(['b']);
  const { route, clock, pinned } = routeIn(reachable);
  await expect(route.address()).rejects.toThrow('No address is known');
  route.update([candidate('a')]);
  const asked = expect(route.address()).rejects.toBeInstanceOf(NoAddressAnswered);
  route.update([candidate('a'), candidate('b')]);
  await clock.advance(1000);
  await asked;
  expect(pinned).toEqual(['b']);
});

test('a route whose upgrade is under way and whose pinned address dies still finds the rest', async () => {
  const reachable = new Set(['air', 'air2']);
  const { route, clock } = routeIn(reachable);
  route.update([candidate('air', 'wireless'), candidate('air2', 'wireless')]);
  await clock.advance(20);
  route.update([candidate('cable'), candidate('air', 'wireless'), candidate('air2', 'wireless')]);
  reachable.delete('air');
  route.died('air');
  const asked = route.address();
  await clock.advance(1000);
  expect(await asked).toBe('air2');
});

test('closed, it dials no more', async () => {
  const { route, clock, dialled } = routeIn(new Set());
  route.update([candidate('a'), candidate('b')]);
  const asked = expect(route.address()).rejects.toThrow('closed');
  route.close();
  await clock.advance(1000);
  await asked;
  route.update([candidate('c')]);
  await clock.advance(1000);
  expect(dialled).toEqual(['a']);
  await expect(route.address()).rejects.toThrow('closed');
});
