export const pipelineErrorKinds = [
  'QueueFull',
  'StageLost',
  'StepDeadline',
  'DecodeFailed',
  'FormFailed',
  /** A stage that its member has no room for. */
  'DoesNotFit',
  'Closed',
  /** A grammar that cannot be read. */
  'BadGrammar',
  /** A prompt that is empty or leaves no room for an answer. */
  'BadPrompt',
] as const;
export type PipelineErrorKind = (typeof pipelineErrorKinds)[number];

/** A request or a pipeline that could not go on; the message says in one line what happened and what to do. */
export class PipelineError extends Error {
  readonly kind: PipelineErrorKind;
  /** Of a full queue: seconds after which to ask again; null where that is not known. */
  readonly retryAfter: number | null;

  constructor(
    kind: PipelineErrorKind,
    message: string,
    { retryAfter, ...options }: { cause?: unknown; retryAfter?: number } = {},
  ) {
    super(message, options);
    this.retryAfter = retryAfter ?? null;
    this.name = 'PipelineError';
    this.kind = kind;
  }
}
