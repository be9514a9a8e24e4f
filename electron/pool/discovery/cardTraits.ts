import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import systeminformation from 'systeminformation';
import { type CardTraits, type NetworkCards, sortCards } from './networkCard.ts';

/**
 * Reads the cards of this machine each time it is called; the same object while no address changed, since asking for the
 * rest is dear on some systems.
 */
export function cardReader(platform: NodeJS.Platform = process.platform): () => Promise<NetworkCards> {
  let last = '';
  let cards: NetworkCards = { usable: [], skipped: [] };
  return async () => {
    const interfaces = networkInterfaces();
    const now = JSON.stringify(interfaces);
    if (now !== last) {
      cards = sortCards(interfaces, await readTraits(Object.keys(interfaces), platform), platform);
      last = now;
    }
    return cards;
  };
}

async function readTraits(names: readonly string[], platform: NodeJS.Platform): Promise<Map<string, CardTraits>> {
  if (platform === 'linux') return new Map(names.map((name) => [name, linuxTraits(name)]));
  // Without an answer the names decide.
  const found = await systeminformation.networkInterfaces().catch(() => []);
  return new Map(
    [found].flat().map(({ iface, type }) => {
      const medium = type === 'wired' || type === 'wireless' ? type : 'unknown';
      return [iface, { medium, inner: false }];
    }),
  );
}

/** ARPHRD_ETHER of linux/if_arp.h. */
const ETHERNET = '1';

/**
 * From sysfs: systeminformation would start several shells per card, and block this process meanwhile. Exported for its
 * test.
 */
export function linuxTraits(name: string, folder = '/sys/class/net'): CardTraits {
  const card = join(folder, name);
  const ports = portsOf(card);
  const wireless = existsSync(join(card, 'wireless')) || existsSync(join(card, 'phy80211'));
  const type = readText(join(card, 'type'));
  return {
    medium: wireless ? 'wireless' : isHardware(folder, [name, ...(ports ?? [])]) ? 'wired' : 'unknown',
    // A bridge with a real card on it carries the LAN itself; one without joins only what runs on this machine.
    inner: (type !== null && type !== ETHERNET) || (ports !== null && !isHardware(folder, ports)),
  };
}

function isHardware(folder: string, names: readonly string[]): boolean {
  return names.some((name) => existsSync(join(folder, name, 'device')));
}

/** The cards that a bridge joins; null for any other card. */
function portsOf(card: string): string[] | null {
  if (!existsSync(join(card, 'bridge'))) return null;
  try {
    return readdirSync(join(card, 'brif'));
  } catch {
    return [];
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
