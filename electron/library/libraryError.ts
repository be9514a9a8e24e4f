/** Why the library cannot do what it was asked. */
export type LibraryErrorCode =
  | 'UnknownModel'
  | 'Ambiguous'
  | 'FileGone'
  | 'FileChanged'
  | 'DamagedLibrary'
  | 'BadReference'
  | 'NoSpace'
  | 'Refused'
  | 'Unreachable'
  | 'DownloadFailed'
  | 'Copy'
  | 'Differs'
  | 'Busy'
  | 'Stopped';

/** A refusal of the library; the message is one plain line that says what to do. */
export class LibraryError extends Error {
  override readonly name = 'LibraryError';
  readonly code: LibraryErrorCode;

  constructor(code: LibraryErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
