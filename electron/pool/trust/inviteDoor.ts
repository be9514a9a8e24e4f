import { ListenFailed } from '../../wire/secureListener.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { PoolError } from '../poolError.ts';
import {
  addInvite,
  burnInvite,
  forgetEnded,
  type InviteBook,
  judgeInvite,
  type OpenInvite,
  openInvites,
  withdrawInvite,
} from './inviteBook.ts';
import { formatInvite, type Invite, inviteKeys, newInviteSecret } from './inviteToken.ts';
import { type Applicant, JoinListener, type JoinListenerOptions } from './joinListener.ts';
import type { PoolFiles } from './poolFiles.ts';

const REFUSALS = {
  Unknown: ['ForeignInvite', 'This pool knows no such invite. Ask for a new one.'],
  BadProof: ['BadInvite', 'The invite token has been changed or copied wrongly. Copy it again, or ask for a new one.'],
  Used: ['InviteUsed', 'This invite has been used already. Ask for a new one.'],
  Expired: ['InviteExpired', 'This invite has expired. Ask for a new one.'],
} as const;

export interface InviteDoorOptions {
  files: PoolFiles;
  /** Where to listen; port 0 for the one of last time, or any free one. */
  listen: { host: string; port: number };
  tls: () => TlsMaterial;
  admit: JoinListenerOptions['admit'];
  now: () => number;
  /** Invites have come or ended. */
  onChange: () => void;
  onError: (cause: unknown) => void;
}

/** The invites of an admin, and the listener that is open for as long as any of them is remembered. */
export class InviteDoor {
  readonly #options: InviteDoorOptions;
  #book: InviteBook;
  #port: number;
  #listener: JoinListener | null = null;
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(options: InviteDoorOptions, kept: { port: number; invites: InviteBook }) {
    this.#options = options;
    this.#book = forgetEnded(kept.invites, options.now());
    this.#port = kept.port;
  }

  /** The door as it was left: open when invites are out. Throws PoolError('DamagedFile'). */
  static async open(options: InviteDoorOptions): Promise<InviteDoor> {
    const door = new InviteDoor(options, await options.files.readInvites());
    if (door.#book.length > 0) await door.#listen();
    return door;
  }

  /** The text of a new invite. Throws ListenFailed. */
  async invite(invite: Omit<Invite, 'secret' | 'port'>): Promise<string> {
    const { port } = await this.#listen();
    const full = { ...invite, port, secret: newInviteSecret() };
    const { id, proofKey } = inviteKeys(full);
    const kept = {
      id: id.toString('hex'),
      proofKey: proofKey.toString('hex'),
      expiresAtMs: invite.expiresAtMs,
      used: null,
    };
    await this.#keep(addInvite(this.#book, kept, this.#options.now()));
    return formatInvite(full);
  }

  /** Throws PoolError, saying which, unless the applicant holds an open invite. */
  check({ inviteId, proves }: Applicant): void {
    const verdict = judgeInvite(this.#book, inviteId, proves, this.#options.now());
    if (verdict === 'Open') return;
    const [kind, message] = REFUSALS[verdict];
    throw new PoolError(kind, message);
  }

  /** Uses an invite up, on disk too, before anything is signed for it. Throws like `check`: of two at once one gets through. */
  async burn(applicant: Applicant, member: string): Promise<void> {
    this.check(applicant);
    await this.#keep(burnInvite(this.#book, applicant.inviteId, member, this.#options.now()));
  }

  /** Invites that somebody may still use. */
  get openInvites(): OpenInvite[] {
    return openInvites(this.#book, this.#options.now());
  }

  /** Ends an open invite; its token is refused as expired. Throws PoolError('UnknownInvite') where none is open. */
  async withdraw(id: string): Promise<void> {
    const book = withdrawInvite(this.#book, id, this.#options.now());
    if (book === this.#book) throw new PoolError('UnknownInvite', 'This invite has been used or has expired already.');
    await this.#keep(book);
  }

  setTls(tls: TlsMaterial): void {
    this.#listener?.setTls(tls);
  }

  /** Closes when nothing is remembered any more. */
  tidy(): void {
    this.#book = forgetEnded(this.#book, this.#options.now());
    if (this.#book.length === 0) this.close();
  }

  close(): void {
    this.#listener?.close();
    this.#listener = null;
  }

  async #listen(): Promise<JoinListener> {
    if (this.#listener !== null) return this.#listener;
    const { listen, tls, admit, now, onError } = this.#options;
    const start = (port: number): Promise<JoinListener> =>
      JoinListener.start({ tls: tls(), host: listen.host, port, admit, now, onError });
    let listener: JoinListener;
    try {
      listener = await start(listen.port || this.#port);
    } catch (cause) {
      // Somebody else has the port of last time: the invites that name it are lost, new ones are not.
      if (!(cause instanceof ListenFailed) || listen.port !== 0 || this.#port === 0) throw cause;
      listener = await start(0);
    }
    this.#listener = listener;
    this.#port = listener.port;
    return listener;
  }

  /** The book changes at once, so that nobody sees an invite open that is being burned. */
  async #keep(book: InviteBook): Promise<void> {
    this.#book = book;
    this.#options.onChange();
    const write = this.#writing.then(() => this.#options.files.writeInvites({ port: this.#port, invites: this.#book }));
    this.#writing = write.catch(() => {});
    await write;
  }
}
