/** What can be wrong with a model file; the message is one plain line that names the file and what to do. */
export type GgufErrorCode =
  | 'NotGguf'
  | 'Truncated'
  | 'Malformed'
  | 'MissingShard'
  | 'ShardsDiffer'
  | 'NotAModel'
  | 'Unsplittable'
  | 'SourceChanged'
  | 'HeaderDamaged'
  | 'WriteFailed';

/** Any failure of this folder. `code` tells them apart, `path` is the file at fault. */
export class GgufError extends Error {
  readonly code: GgufErrorCode;
  readonly path: string;

  constructor(code: GgufErrorCode, path: string, problem: string, cause?: unknown) {
    super(`${oneLine(path, 400)} ${problem}`, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.path = path;
  }
}

/** The file is something else, or cannot be read at all. */
export class NotGgufError extends GgufError {
  constructor(path: string, problem: string, cause?: unknown) {
    super('NotGguf', path, problem, cause);
  }
}

/** The file ends before what its header promises. */
export class TruncatedError extends GgufError {
  /** Bytes that the file must have at least. */
  readonly expectedBytes: number;
  readonly foundBytes: number;

  constructor(path: string, expectedBytes: number, foundBytes: number) {
    super(
      'Truncated',
      path,
      `is truncated: it has ${foundBytes} bytes of at least ${expectedBytes}; download or copy it again.`,
    );
    this.expectedBytes = expectedBytes;
    this.foundBytes = foundBytes;
  }
}

/** The header contradicts itself or claims what no honest file holds. */
export class MalformedError extends GgufError {
  constructor(path: string, problem: string) {
    super('Malformed', path, `is damaged: ${problem}; download it again.`);
  }
}

/** A file of a split set is not there. `path` is the missing one. */
export class MissingShardError extends GgufError {
  constructor(path: string, problem: string, cause?: unknown) {
    super('MissingShard', path, problem, cause);
  }
}

/** The files of a split set do not belong together. */
export class ShardsDifferError extends GgufError {
  constructor(path: string, problem: string) {
    super('ShardsDiffer', path, `does not belong to its split set: ${problem}; download the whole set again.`);
  }
}

/** A GGUF without a language model in it that could be served: an adapter, a projector, a vocabulary. */
export class NotAModelError extends GgufError {
  constructor(path: string, problem: string, cause?: unknown) {
    super('NotAModel', path, problem, cause);
  }
}

/** The model may not be cut, or not there. */
export class UnsplittableError extends GgufError {
  constructor(path: string, reason: string) {
    super('Unsplittable', path, `cannot be cut here: ${reason}.`);
  }
}

/** The model's file is no longer the one whose header was read. */
export class SourceChangedError extends GgufError {
  constructor(path: string) {
    super('SourceChanged', path, 'was changed while it was in use; import it again.');
  }
}

/** The header is not what it was although the file system knows of no change: the disk has decayed. */
export class HeaderDamagedError extends GgufError {
  constructor(path: string) {
    super('HeaderDamaged', path, 'is damaged: its header is not what it was; import or download it again.');
  }
}

/** The output could not be written; nothing of it is left. */
export class WriteFailedError extends GgufError {
  constructor(path: string, problem: string, cause: unknown) {
    super('WriteFailed', path, problem, cause);
  }
}

/** Text of a file as part of one plain line: control characters escaped, length bounded. */
export function oneLine(text: string, longest = 80): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '?');
  return plain.length > longest ? `${plain.slice(0, longest)}...` : plain;
}
