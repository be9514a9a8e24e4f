import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { mediumTo, rankCandidates, reachabilityOf } from './candidate.ts';
import { type CardTraits, cardsOf, sortCards } from './networkCard.ts';

function ipv4(address: string, prefix = 24): NetworkInterfaceInfo {
  const cidr = `${address}/${prefix}`;
  return { address, cidr, netmask: '', family: 'IPv4', mac: '', internal: address.startsWith('127.') };
}

function ipv6(address: string, scopeid = 0): NetworkInterfaceInfo {
  const cidr = `${address}/64`;
  return { address, cidr, netmask: '', family: 'IPv6', mac: '', internal: address === '::1', scopeid };
}

const wired: CardTraits = { medium: 'wired', inner: false };
const inner: CardTraits = { medium: 'unknown', inner: true };

function names(interfaces: Record<string, NetworkInterfaceInfo[]>, platform: NodeJS.Platform, traits = {}) {
  const { usable, skipped } = sortCards(interfaces, new Map(Object.entries(traits)), platform);
  return { usable: usable.map(({ name }) => name), skipped: skipped.map(({ name }) => name) };
}

test('cards that lead to a LAN are told from those of containers, virtual machines and tunnels', () => {
  const linux = {
    lo: [ipv4('127.0.0.1', 8), ipv6('::1')],
    eth0: [ipv4('192.168.1.7'), ipv6('fe80::7', 2)],
    wlp2s0: [ipv4('192.168.1.8')],
    docker0: [ipv4('172.17.0.1', 16)],
    'br-0123456789ab': [ipv4('172.18.0.1', 16)],
    corp: [ipv4('10.9.0.1')],
    virbr0: [ipv4('192.168.122.1')],
    tailscale0: [ipv4('100.64.0.1', 10)],
    usb0: [],
  };
  expect(names(linux, 'linux', { corp: inner })).toEqual({
    usable: ['eth0', 'wlp2s0'],
    skipped: ['docker0', 'br-0123456789ab', 'corp', 'virbr0', 'tailscale0'],
  });
  const mac = {
    en0: [ipv4('10.0.0.2')],
    bridge0: [ipv4('169.254.3.4', 16)],
    bridge100: [ipv4('192.168.64.1')],
    utun3: [ipv6('fe80::1', 12)],
    awdl0: [ipv6('fe80::2', 9)],
  };
  expect(names(mac, 'darwin')).toEqual({ usable: ['en0', 'bridge0'], skipped: ['bridge100', 'utun3', 'awdl0'] });
  const windows = {
    'Wi-Fi': [ipv6('fe80::9', 17), ipv4('10.0.0.9')],
    'vEthernet (Extern)': [ipv4('10.0.1.9')],
    'vEthernet (WSL (Hyper-V firewall))': [ipv4('172.30.0.1', 20)],
    'VirtualBox Host-Only Network': [ipv4('192.168.56.1')],
  };
  expect(names(windows, 'win32').usable).toEqual(['Wi-Fi', 'vEthernet (Extern)']);
  const [wifi] = sortCards(windows, new Map(), 'win32').usable;
  expect(wifi).toMatchObject({ medium: 'wireless', zone: '17' });
});

test('an address belongs to the cards on whose subnet it lies, one with a zone to that card', () => {
  const { usable } = sortCards(
    { eth0: [ipv4('192.168.1.7'), ipv6('fe80::7', 2)], eth1: [ipv4('10.5.0.7', 8), ipv6('fe80::8', 3)] },
    new Map(),
    'linux',
  );
  const on = (host: string): string[] => cardsOf(host, usable).map(({ name }) => name);
  expect(on('192.168.1.200')).toEqual(['eth0']);
  expect(on('192.168.2.200')).toEqual([]);
  expect(on('10.255.1.1')).toEqual(['eth1']);
  expect(on('fe80::99')).toEqual(['eth0', 'eth1']);
  expect(on('fe80::99%eth1')).toEqual(['eth1']);
  expect(on('2001:db8::1')).toEqual([]);
});

test('a way is as good as its worse end, and the best address comes first', () => {
  const traits = new Map([['eth0', wired]]);
  const interfaces = { eth0: [ipv4('192.168.1.7'), ipv6('fe80::7', 2)], wlan0: [ipv4('10.5.0.7')] };
  const { usable } = sortCards(interfaces, traits, 'linux');
  expect(mediumTo('192.168.1.9', 'wired', usable)).toBe('wired');
  expect(mediumTo('192.168.1.9', 'wireless', usable)).toBe('wireless');
  expect(mediumTo('192.168.1.9', 'unknown', usable)).toBe('unknown');
  expect(mediumTo('10.5.0.9', 'wired', usable)).toBe('wireless');
  expect(mediumTo('203.0.113.5', 'wired', usable)).toBe('unknown');

  const ranked = rankCandidates(
    [
      { address: '203.0.113.5:1', medium: 'unknown' },
      { address: '10.5.0.9:1', medium: 'wireless' },
      { address: '[fe80::9%eth0]:1', medium: 'wired' },
      { address: '192.168.1.9:1', medium: 'unknown' },
      { address: '192.168.1.9:1', medium: 'wired' },
    ],
    usable,
  );
  expect(ranked.map(({ address }) => address)).toEqual([
    '192.168.1.9:1',
    '[fe80::9%eth0]:1',
    '10.5.0.9:1',
    '203.0.113.5:1',
  ]);
});

test('only a private address of a shared subnet is local', () => {
  const interfaces = { eth0: [ipv4('192.168.1.7'), ipv6('2001:db8::7', 0), ipv6('fd00::7', 0), ipv4('203.0.113.7')] };
  const { usable } = sortCards(interfaces, new Map(), 'linux');
  const reach = (host: string): string => reachabilityOf(host, usable);
  expect(['192.168.1.9', 'fd00::9', '127.0.0.1', '::1'].map(reach)).toEqual(Array(4).fill('LocalDirect'));
  expect(['192.168.2.9', '203.0.113.9', '2001:db8::9', '10.0.0.1'].map(reach)).toEqual(Array(4).fill('Direct'));
});
