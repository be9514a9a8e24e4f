import { carriesActivations, type Member, type Reachability } from '../member.ts';
import type { Link } from '../planOptions.ts';

/** Round trip between members that nobody measured: a switch and two network stacks. */
const assumedRttMs = 0.5;
/** Throughput between members that nobody measured: Gigabit Ethernet. */
const assumedBytesPerSecond = 117e6;

/** What is known or assumed of the connection from one member to another. */
export interface Links {
  /** Whether nothing is known of any pair. */
  unknown: boolean;
  /** Whether any round trip was measured. */
  measured: boolean;
  reachability(from: string, to: string): Reachability;
  /** Whether activations may go from one to the other; always true of a member and itself. */
  usable(from: string, to: string): boolean;
  /** Round trip in milliseconds; null where it was not measured. */
  rttMs(from: string, to: string): number | null;
  /** Milliseconds until `bytes` have arrived: half a round trip and the transfer. 0 within one member. */
  oneWayMs(from: string, to: string, bytes: number): number;
  /** Milliseconds that `bytes` occupy the connection. */
  transferMs(from: string, to: string, bytes: number): number;
}

/** Reads the links of a room. A pair without a link is as reachable as the member it leads to says of itself. */
export function linksOf(members: readonly Member[], links: readonly Link[]): Links {
  const own = new Map(members.map(({ address, reachability }) => [address, reachability ?? 'LocalDirect']));
  const pairs = new Map<string, Map<string, Link>>();
  for (const link of links) {
    const row = pairs.get(link.from) ?? new Map<string, Link>();
    row.set(link.to, link);
    pairs.set(link.from, row);
  }
  const find = (from: string, to: string) => pairs.get(from)?.get(to);
  const reachability = (from: string, to: string) => find(from, to)?.reachability ?? own.get(to) ?? 'LocalDirect';
  const transferMs = (from: string, to: string, bytes: number) =>
    from === to ? 0 : (bytes / (find(from, to)?.bytesPerSecond ?? assumedBytesPerSecond)) * 1000;
  return {
    unknown: links.length === 0,
    measured: links.some(({ rttMs }) => rttMs !== undefined),
    reachability,
    usable: (from, to) => from === to || carriesActivations(reachability(from, to)),
    rttMs: (from, to) => find(from, to)?.rttMs ?? null,
    oneWayMs: (from, to, bytes) =>
      from === to ? 0 : (find(from, to)?.rttMs ?? assumedRttMs) / 2 + transferMs(from, to, bytes),
    transferMs,
  };
}
