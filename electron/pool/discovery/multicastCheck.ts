/** What discovery met on this machine's network so far. */
export interface MulticastFacts {
  /** How often it asked since the cards last changed. */
  looks: number;
  /** Names of the cards that lead to a LAN, and of those that do not. */
  cards: string[];
  skipped: string[];
  /** The cards it listens on, once for each address family. */
  open: string[];
  /** Where it cannot listen, and cannot send. */
  refused: { card: string; why: string }[];
  unsent: { card: string; why: string }[];
  /** By which of them its own announcement came back, and by which anyone else was heard. */
  echoed: string[];
  heard: string[];
  /** Packets that were malformed or too many. */
  dropped: number;
}

/** A member that answers on an address of a shared subnet. */
export interface NearMember {
  name: string;
  /** Whether discovery found it. */
  found: boolean;
}

export interface MulticastVerdict {
  /** 'unproven': nothing is wrong here, but nobody else was heard yet. */
  state: 'works' | 'unproven' | 'blocked' | 'unavailable';
  /** One plain line each; nothing to do where the remedy is null. */
  message: string;
  remedy: string | null;
}

/** By then an own announcement has come back if it ever does; each look sends one more packet. */
const LOOKS_FOR_ECHO = 3;

const BY_ADDRESS = 'or add machines by address: `roomful join TOKEN` needs no multicast';

/** The self-test: whether multicast works, as far as one machine can know, and what to do if not. Pure. */
export function judgeMulticast(
  facts: MulticastFacts,
  near: readonly NearMember[],
  platform: NodeJS.Platform,
): MulticastVerdict {
  const { cards, open, refused, unsent, echoed, heard, looks, skipped } = facts;
  if (cards.length === 0) {
    const besides = skipped.length > 0 ? ` (${skipped.join(', ')} lead to no LAN)` : '';
    return unavailable(`No network card has an address${besides}.`, 'Connect this machine to the network.');
  }
  if (open.length === 0 && refused.length > 0) {
    return unavailable(
      `This machine cannot listen for others: ${refused[0]?.why}.`,
      `End the program that holds UDP port 5353 for itself, ${BY_ADDRESS}.`,
    );
  }
  const unheard = near.filter(({ found }) => !found);
  const works = near.some(({ found }) => found) || heard.length > 0;
  if (!works && looks >= LOOKS_FOR_ECHO && echoed.length === 0) {
    const why = unsent[0]?.why;
    return {
      state: 'blocked',
      message: why === undefined ? OWN_UNHEARD : `This machine cannot send multicast: ${why}.`,
      remedy: `${firewallRemedy(platform)}, ${BY_ADDRESS}.`,
    };
  }
  if (unheard.length > 0 && looks >= LOOKS_FOR_ECHO) {
    const names = unheard.map(({ name }) => name).join(', ');
    return {
      state: 'blocked',
      message: `Multicast does not get through from ${names}, although the network does.`,
      remedy: `Turn off client isolation (also called AP isolation or guest network) and IGMP snooping in the router, ${BY_ADDRESS}.`,
    };
  }
  if (works) return { state: 'works', message: `Multicast works on ${heardOn(facts)}.`, remedy: null };
  return { state: 'unproven', message: 'No other machine was heard yet.', remedy: null };
}

const OWN_UNHEARD = 'This machine does not hear its own multicast: a firewall on it drops UDP port 5353.';

function firewallRemedy(platform: NodeJS.Platform): string {
  if (platform === 'win32') return 'Allow Roomful on private networks in Windows Defender Firewall';
  if (platform === 'darwin') return 'Allow Roomful under System Settings, Privacy & Security, Local Network';
  return 'Open UDP port 5353 in the firewall (`ufw allow 5353/udp`, or `firewall-cmd --add-service=mdns`)';
}

function heardOn({ cards, heard }: MulticastFacts): string {
  const named = cards.filter((card) => heard.includes(card));
  return named.length > 0 ? named.join(', ') : cards.join(', ');
}

function unavailable(message: string, remedy: string): MulticastVerdict {
  return { state: 'unavailable', message, remedy };
}
