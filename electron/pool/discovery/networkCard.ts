import { BlockList, isIPv6 } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';

/** How a card reaches its network. */
export type Medium = 'wired' | 'wireless' | 'unknown';

export interface CardAddress {
  /** Without a zone. */
  host: string;
  /** The subnet, such as 192.168.1.7/24. */
  cidr: string;
}

/** A network card, or what the system shows as one. */
export interface NetworkCard {
  name: string;
  medium: Medium;
  /** What follows the % in link-local IPv6 addresses on this machine: the name, on Windows a number. */
  zone: string;
  addresses: readonly CardAddress[];
}

/** What the system knows of a card besides its addresses. */
export interface CardTraits {
  medium: Medium;
  /** Joins only containers or virtual machines of this machine, or leads through a tunnel: no LAN lies behind it. */
  inner: boolean;
}

export interface NetworkCards {
  /** Those that lead to a LAN. */
  usable: NetworkCard[];
  /** Loopback is in neither. */
  skipped: NetworkCard[];
}

/** Container bridges, cards of virtual machines, and tunnels, where the system says it by the name alone. */
const INNER_NAMES = [
  /^(docker|podman|cni|cbr|lxcbr|lxdbr|incusbr|virbr|vboxnet|vmnet|vmenet|flannel|cilium|cali)/i,
  /^br-[0-9a-f]{12}$/,
  /^bridge1\d\d$/,
  /^vEthernet \((WSL|Default Switch|nat|DockerNAT)/i,
  /^(VirtualBox Host-Only|VMware Network Adapter VMnet)/i,
  /^(tailscale|wg|tun|utun|ppp|ipsec|gif|stf|awdl|llw|anpi|ap\d)/i,
];

const WIRELESS_NAMES = /^(wl|wi-?fi|wireless|drahtlos)/i;

/** Sorts the cards of this machine, by what the system knows of them (may be nothing) and by their names. */
export function sortCards(
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>,
  traits: ReadonlyMap<string, CardTraits>,
  platform: NodeJS.Platform,
): NetworkCards {
  const cards: NetworkCards = { usable: [], skipped: [] };
  for (const [name, infos = []] of Object.entries(interfaces)) {
    const outer = infos.filter((info) => !info.internal && info.cidr !== null);
    if (outer.length === 0) continue;
    const known = traits.get(name);
    const zone = outer.find((info) => info.family === 'IPv6' && (info.scopeid ?? 0) > 0)?.scopeid;
    const card: NetworkCard = {
      name,
      medium: known === undefined || known.medium === 'unknown' ? mediumByName(name) : known.medium,
      zone: platform === 'win32' && zone !== undefined ? String(zone) : name,
      addresses: outer.map(({ address, cidr }) => ({ host: address, cidr: cidr ?? '' })),
    };
    const inner = known?.inner === true || INNER_NAMES.some((pattern) => pattern.test(name));
    (inner ? cards.skipped : cards.usable).push(card);
  }
  return cards;
}

/** The cards on whose subnet an address lies. A link-local one with a zone lies on that card alone. */
export function cardsOf(host: string, cards: readonly NetworkCard[]): NetworkCard[] {
  const [bare = '', zone] = host.split('%');
  if (zone !== undefined) return cards.filter((card) => card.zone === zone);
  const family = isIPv6(bare) ? 'ipv6' : 'ipv4';
  return cards.filter(({ addresses }) =>
    addresses.some(({ cidr }) => {
      const [net = '', prefix] = cidr.split('/');
      if (isIPv6(net) !== (family === 'ipv6')) return false;
      const subnet = new BlockList();
      subnet.addSubnet(net, Number(prefix), family);
      return subnet.check(bare, family);
    }),
  );
}

export function isLinkLocal(host: string): boolean {
  return linkLocal.check(host.split('%')[0] ?? '', isIPv6(host) ? 'ipv6' : 'ipv4');
}

const linkLocal = new BlockList();
linkLocal.addSubnet('fe80::', 10, 'ipv6');
linkLocal.addSubnet('169.254.0.0', 16, 'ipv4');

function mediumByName(name: string): Medium {
  return WIRELESS_NAMES.test(name) ? 'wireless' : 'unknown';
}
