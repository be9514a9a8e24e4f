/** Why a stage's files could not be had. */
export type SliceErrorCode =
  | 'NoHolder'
  | 'HolderSilent'
  | 'TensorDamaged'
  | 'HoldersDisagree'
  | 'WrongModel'
  | 'DiskFull'
  | 'OverBudget'
  | 'WriteFailed';

/** The message is one plain line that says what to do. */
export class SliceError extends Error {
  override readonly name = 'SliceError';
  /** For the wire, which tells others the kind of an error. */
  readonly kind: SliceErrorCode;

  constructor(kind: SliceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
