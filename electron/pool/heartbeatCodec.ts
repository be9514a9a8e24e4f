import { z } from 'zod';
import {
  type Heartbeat,
  PresenceRecord as Message,
  type SignedPresence,
} from '../wire/generated/roomful/v1/heartbeat.ts';
import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import type { Beat, PresenceNews } from './membershipEvents.ts';
import type { PresenceRecord } from './presenceRecord.ts';
import { PresenceSeal } from './presenceSeal.ts';

/** Most members that a beat may tell about. */
const NEWS_LIMIT = 1000;
/** Counters stay far from where adding one to them would change nothing. */
const counter = z
  .number()
  .int()
  .nonnegative()
  .max(2 ** 50);
const port = z.number().int().min(0).max(65_535);
const line = z.string().max(200);

const epochSchema = z
  .object({ counter, coordinator: line.min(1) })
  .optional()
  .transform((epoch) => epoch ?? null);

const recordSchema: z.ZodType<PresenceRecord> = z.object({
  member: line.min(1),
  incarnation: counter,
  run: line,
  sequence: counter,
  left: z.boolean(),
  leads: counter,
  heartbeatPort: port,
  card: z.object({
    name: line,
    build: line,
    wireVersion: counter,
    shareBytes: z.number().int().nonnegative(),
    pinned: z.boolean(),
    abstains: z.boolean(),
    multicast: z.boolean(),
    hosts: z.array(line).max(32),
    controlPort: port,
    rosterVersion: counter,
  }),
});

/** `unread`: it is no beat; `forged`: it tells of a member what that member has not signed. */
export type BeatRefusal = 'unread' | 'forged';

/** Between beats and what goes over the wire, where each member's record is signed by itself. */
export class HeartbeatCodec {
  readonly #seal: PresenceSeal;
  /** Records of others as they came, to hand on. */
  readonly #signed = new WeakMap<PresenceRecord, SignedPresence>();

  constructor(tls: TlsMaterial) {
    this.#seal = new PresenceSeal(tls);
  }

  /** The first record is this member's own; all others came out of `decode`. */
  encode({ epoch, news }: Beat): Heartbeat {
    return {
      epoch: epoch ?? undefined,
      news: news.map(({ record, silentMs }) => ({ silentMs: Math.round(silentMs), signed: this.#signedOf(record) })),
    };
  }

  /**
   * What came over the wire, checked, or why it is refused as a whole. Signatures are checked only of what `isNews`; the rest
   * is left out.
   */
  decode({ epoch, news }: Heartbeat, isNews: (record: PresenceRecord) => boolean): Beat | BeatRefusal {
    const parsed = epochSchema.safeParse(epoch);
    if (!parsed.success || news.length > NEWS_LIMIT) return 'unread';
    const read: PresenceNews[] = [];
    for (const { signed, silentMs } of news) {
      const record = signed === undefined ? null : parseRecord(signed.body);
      if (signed === undefined || record === null) return 'unread';
      if (!isNews(record)) continue;
      if (!this.#seal.isBy(record.member, signed)) return 'forged';
      this.#signed.set(record, signed);
      read.push({ record, silentMs });
    }
    return { epoch: parsed.data, news: read };
  }

  #signedOf(record: PresenceRecord): SignedPresence {
    const known = this.#signed.get(record);
    if (known !== undefined) return known;
    return this.#seal.seal({ ...record, card: { ...record.card, hosts: [...record.card.hosts] } });
  }
}

function parseRecord(body: Uint8Array): PresenceRecord | null {
  try {
    return recordSchema.safeParse(Message.decode(body)).data ?? null;
  } catch {
    return null;
  }
}
