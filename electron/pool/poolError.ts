export type PoolErrorKind =
  | 'NoDataFolder'
  | 'DamagedFile'
  | 'NotInPool'
  | 'InPool'
  | 'BadName'
  | 'BadRoster'
  | 'NotAdmin'
  | 'UnknownMember'
  | 'LastAdmin'
  | 'BadInvite'
  | 'InviteExpired'
  | 'InviteUsed'
  | 'UnknownInvite'
  | 'ForeignInvite'
  | 'RateLimited'
  | 'IdTaken'
  | 'Refused'
  | 'Unreachable'
  | 'WrongPassphrase'
  | 'BadExport';

/** Something about this machine's place in a pool is wrong; the message says what the user can do. */
export class PoolError extends Error {
  readonly kind: PoolErrorKind;

  constructor(kind: PoolErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'PoolError';
    this.kind = kind;
  }
}
