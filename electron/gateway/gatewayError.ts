import { PipelineError, type PipelineErrorKind } from '../pipeline/pipelineError.ts';
import { HostError } from '../stage/hostError.ts';

export interface GatewayErrorDetails {
  status: number;
  /** The field that is at fault, as a dotted path; null where there is none. */
  param?: string | null;
  /** For programs; null where the status says it all. */
  code?: string | null;
  /** With 429: seconds after which to ask again. Default 1. */
  retryAfter?: number | null;
  cause?: unknown;
}

/** A request that cannot be answered; the message is one plain line for the person who sent it. */
export class GatewayError extends Error {
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;
  /** Seconds, with 429 alone; else null. */
  readonly retryAfter: number | null;

  constructor(message: string, { status, param = null, code = null, retryAfter = null, cause }: GatewayErrorDetails) {
    super(message, { cause });
    this.name = 'GatewayError';
    this.status = status;
    this.param = param;
    this.code = code;
    this.retryAfter = status === 429 ? (retryAfter ?? 1) : null;
  }

  /** The shape that OpenAI clients read. */
  body(): { error: { message: string; type: string; param: string | null; code: string | null } } {
    return { error: { message: this.message, type: typeOf(this.status), param: this.param, code: this.code } };
  }
}

/** 400 for a field that is wrong. */
export function invalidField(param: string | null, message: string, code: string | null = null): GatewayError {
  return new GatewayError(message, { status: 400, param, code });
}

/**
 * What the client is told about any error: the status of a fastify error, 429 and 503 of a pipeline's, 503 of a lost
 * engine host (the tokenizer), else 500 without the error's own words.
 */
export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof PipelineError) {
    return new GatewayError(error.message, {
      ...pipelineAnswers[error.kind],
      retryAfter: error.retryAfter,
      cause: error,
    });
  }
  if (error instanceof HostError && error.kind !== 'HostRefused') {
    return new GatewayError(error.message, { status: 503, code: 'engine_lost', cause: error });
  }
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number') {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
    if (error.statusCode >= 400 && error.statusCode < 500) {
      const message = fastifyMessages[code] ?? `The request could not be read: ${error.message.slice(0, 200)}`;
      return new GatewayError(message, { status: error.statusCode, code: fastifyCodes[code] ?? null, cause: error });
    }
  }
  return new GatewayError('The gateway failed; its log says more under the id of this request.', {
    status: 500,
    code: 'internal_error',
    cause: error,
  });
}

const pipelineAnswers: Record<PipelineErrorKind, { status: number; code: string; param?: string }> = {
  QueueFull: { status: 429, code: 'queue_full' },
  StageLost: { status: 503, code: 'stage_lost' },
  StepDeadline: { status: 503, code: 'step_deadline' },
  FormFailed: { status: 503, code: 'form_failed' },
  DoesNotFit: { status: 503, code: 'does_not_fit' },
  Closed: { status: 503, code: 'model_closed' },
  DecodeFailed: { status: 500, code: 'decode_failed' },
  BadPrompt: { status: 400, code: 'context_length_exceeded', param: 'prompt' },
  BadGrammar: { status: 400, code: 'invalid_grammar', param: 'grammar' },
};

const fastifyMessages: Record<string, string> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty; send a JSON object.',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'Send the body as JSON, with the header Content-Type: application/json.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON, or has a key __proto__.',
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is larger than this gateway takes.',
};

const fastifyCodes: Record<string, string> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_BODY_TOO_LARGE: 'request_too_large',
};

function typeOf(status: number): string {
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
