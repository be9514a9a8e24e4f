import { expect, test } from 'vitest';
import { judgeMulticast, type MulticastFacts } from './multicastCheck.ts';

const fine: MulticastFacts = {
  looks: 3,
  cards: ['eth0', 'wlan0'],
  skipped: [],
  open: ['eth0', 'eth0', 'wlan0'],
  refused: [],
  unsent: [],
  echoed: ['eth0', 'wlan0'],
  heard: ['wlan0'],
  dropped: 0,
};

function judge(change: Partial<MulticastFacts>, near: { name: string; found: boolean }[] = [], platform = 'linux') {
  return judgeMulticast({ ...fine, ...change }, near, platform as NodeJS.Platform);
}

test('it works when anyone else is heard', () => {
  expect(judge({})).toEqual({ state: 'works', message: 'Multicast works on wlan0.', remedy: null });
  expect(judge({ heard: [] }, [{ name: 'desk', found: true }]).state).toBe('works');
});

test('alone in the room nothing is proven and nothing is wrong', () => {
  expect(judge({ heard: [] })).toMatchObject({ state: 'unproven', remedy: null });
  expect(judge({ heard: [], echoed: [], looks: 1 })).toMatchObject({ state: 'unproven' });
});

test('a member that answers by address but is not heard means a network that blocks', () => {
  const near = [
    { name: 'desk', found: false },
    { name: 'couch', found: true },
  ];
  const verdict = judge({}, near);
  expect(verdict.state).toBe('blocked');
  expect(verdict.message).toContain('from desk,');
  expect(verdict.remedy).toMatch(/isolation.*`roomful join TOKEN`/);
  expect(judge({ looks: 1 }, near).state).toBe('works');
});

test('an own firewall is told by the echo that does not come, with the remedy of the system', () => {
  const deaf = { heard: [], echoed: [] };
  expect(judge(deaf)).toMatchObject({ state: 'blocked', remedy: expect.stringContaining('ufw allow 5353/udp') });
  expect(judge(deaf, [], 'win32').remedy).toContain('Defender');
  const mute = { ...deaf, unsent: [{ card: 'en0', why: 'send EHOSTUNREACH' }] };
  expect(judge(mute, [], 'darwin')).toMatchObject({
    message: expect.stringContaining('EHOSTUNREACH'),
    remedy: expect.stringContaining('Local Network'),
  });
});

test('no card and no port are named', () => {
  expect(judge({ cards: [], skipped: ['docker0'] })).toMatchObject({
    state: 'unavailable',
    message: 'No network card has an address (docker0 lead to no LAN).',
  });
  expect(judge({ open: [], refused: [{ card: 'eth0', why: 'bind EADDRINUSE 0.0.0.0:5353' }] })).toMatchObject({
    state: 'unavailable',
    message: expect.stringContaining('EADDRINUSE'),
    remedy: expect.stringContaining('5353'),
  });
});
