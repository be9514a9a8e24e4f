import { expect, it } from 'vitest';
import { PipelineError } from '../pipeline/pipelineError.ts';
import { HostError } from '../stage/hostError.ts';
import { asGatewayError, GatewayError, invalidField } from './gatewayError.ts';

const tooLarge = Object.assign(new Error('x'), { statusCode: 413, code: 'FST_ERR_CTP_BODY_TOO_LARGE' });

it.each<[string, unknown, number, string, string | null, string | null]>([
  ['a field', invalidField('top_p', 'x'), 400, 'invalid_request_error', 'top_p', null],
  [
    'a key',
    new GatewayError('x', { status: 401, code: 'invalid_api_key' }),
    401,
    'invalid_request_error',
    null,
    'invalid_api_key',
  ],
  [
    'a model',
    new GatewayError('x', { status: 404, param: 'model', code: 'model_not_found' }),
    404,
    'invalid_request_error',
    'model',
    'model_not_found',
  ],
  ['a large body', tooLarge, 413, 'invalid_request_error', null, 'request_too_large'],
  ['a full queue', new PipelineError('QueueFull', 'x'), 429, 'rate_limit_error', null, 'queue_full'],
  ['a lost stage', new PipelineError('StageLost', 'x'), 503, 'server_error', null, 'stage_lost'],
  ['a lost tokenizer', new HostError('HostCrashed', 'x'), 503, 'server_error', null, 'engine_lost'],
  ['anything else', new Error('secret'), 500, 'server_error', null, 'internal_error'],
])('%s is told in the shape of OpenAI', (_name, error, status, type, param, code) => {
  const answer = asGatewayError(error);
  expect(answer.status).toBe(status);
  expect(answer.retryAfter).toBe(status === 429 ? 1 : null);
  expect(answer.body()).toEqual({ error: { message: expect.not.stringContaining('secret'), type, param, code } });
});

it('tells when a full queue may have room again', () => {
  expect(asGatewayError(new PipelineError('QueueFull', 'x', { retryAfter: 7 })).retryAfter).toBe(7);
  expect(asGatewayError(new PipelineError('StageLost', 'x', { retryAfter: 7 })).retryAfter).toBeNull();
});
