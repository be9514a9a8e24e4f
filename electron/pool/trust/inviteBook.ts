/** What is kept of an invite: enough to know a proof again, not enough to make the token again. */
export interface KeptInvite {
  /** Hexadecimal. */
  readonly id: string;
  readonly proofKey: string;
  readonly expiresAtMs: number;
  /** When and by which member it was used. */
  readonly used: { readonly atMs: number; readonly member: string } | null;
}

/** The invites of one admin, newest last. Never changed, only replaced. */
export type InviteBook = readonly KeptInvite[];

export type InviteVerdict = 'Open' | 'Unknown' | 'BadProof' | 'Used' | 'Expired';

/** How long an invite is remembered after its end, so that a late guest can be told what happened, ms. */
const MEMORY_MS = 24 * 60 * 60 * 1000;
const MOST_INVITES = 1000;

/** The book with one invite more, without those that ended a day ago, and not longer than a thousand. */
export function addInvite(book: InviteBook, invite: KeptInvite, nowMs: number): InviteBook {
  return [...forgetEnded(book, nowMs), invite].slice(-MOST_INVITES);
}

/** The book without those that ended a day ago. */
export function forgetEnded(book: InviteBook, nowMs: number): InviteBook {
  return book.filter(({ expiresAtMs, used }) => nowMs < (used?.atMs ?? expiresAtMs) + MEMORY_MS);
}

/**
 * What becomes of somebody who names an invite. `proves` tells whether the proof fits the key of the invite; who cannot
 * prove it learns nothing about the invite.
 */
export function judgeInvite(
  book: InviteBook,
  id: string,
  proves: (proofKey: Buffer) => boolean,
  nowMs: number,
): InviteVerdict {
  const invite = book.find((kept) => kept.id === id);
  if (invite === undefined) return 'Unknown';
  if (!proves(Buffer.from(invite.proofKey, 'hex'))) return 'BadProof';
  if (invite.used !== null) return 'Used';
  return nowMs < invite.expiresAtMs ? 'Open' : 'Expired';
}

/** An invite that somebody may still use. */
export interface OpenInvite {
  readonly id: string;
  readonly expiresAtMs: number;
}

/** The invites that are neither used nor expired, oldest first. */
export function openInvites(book: InviteBook, nowMs: number): OpenInvite[] {
  return book
    .filter(({ used, expiresAtMs }) => used === null && nowMs < expiresAtMs)
    .map(({ id, expiresAtMs }) => ({ id, expiresAtMs }));
}

/** The book in which an open invite ends now; the same where it is not open. */
export function withdrawInvite(book: InviteBook, id: string, nowMs: number): InviteBook {
  if (!openInvites(book, nowMs).some((invite) => invite.id === id)) return book;
  return book.map((kept) => (kept.id === id ? { ...kept, expiresAtMs: nowMs } : kept));
}

/** The book in which the invite is used up. */
export function burnInvite(book: InviteBook, id: string, member: string, nowMs: number): InviteBook {
  return book.map((kept) => (kept.id === id ? { ...kept, used: { atMs: nowMs, member } } : kept));
}
