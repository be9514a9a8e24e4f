import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerRpc, InvalidParams, type RpcMethod } from './jsonRpc.ts';

const failures: unknown[] = [];
const methods = new Map<string, RpcMethod>([
  ['subtract', (params) => (Array.isArray(params) ? params[0] - params[1] : params)],
  [
    'picky',
    () => {
      throw new InvalidParams('model.layers', 'model.layers must be a whole number.');
    },
  ],
  ['broken', () => Promise.reject(new Error('inner words'))],
]);
const answer = (body: unknown) => answerRpc(body, methods, (_method, error) => failures.push(error));
const call = { jsonrpc: '2.0', method: 'subtract', params: [42, 23], id: 1 };

// The examples of https://www.jsonrpc.org/specification, section 7, as far as they are about parsed bodies.
describe('answerRpc', () => {
  it('answers a call under its id', async () => {
    expect(await answer(call)).toEqual({ jsonrpc: '2.0', result: 19, id: 1 });
    expect(await answer({ ...call, id: 'a', params: { x: 1 } })).toEqual({ jsonrpc: '2.0', result: { x: 1 }, id: 'a' });
    expect(await answer({ ...call, id: null })).toEqual({ jsonrpc: '2.0', result: 19, id: null });
  });

  it('is silent to a notification, even one that fails', async () => {
    for (const method of ['subtract', 'nothing', 'picky']) expect(await answer({ jsonrpc: '2.0', method })).toBeNull();
    expect(await answer([{ jsonrpc: '2.0', method: 'subtract' }])).toBeNull();
  });

  it('names the method that is not there and the field that is wrong', async () => {
    expect(await answer({ ...call, method: 'toString' })).toMatchObject({ id: 1, error: { code: -32601 } });
    expect(await answer({ ...call, method: 'picky' })).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32602,
        message: 'Invalid params: model.layers must be a whole number.',
        data: { field: 'model.layers' },
      },
    });
  });

  it('keeps inner errors to the log', async () => {
    failures.length = 0;
    const response = await answer({ ...call, method: 'broken' });
    expect(response).toMatchObject({ id: 1, error: { code: -32603 } });
    expect(JSON.stringify(response)).not.toContain('inner words');
    expect(failures).toEqual([new Error('inner words')]);
  });

  it.each([
    ['a number', 1, null],
    ['null', null, null],
    ['an empty batch', [], null],
    ['a batch that is too long', Array.from({ length: 101 }, () => call), null],
    ['no version', { method: 'subtract', id: 1 }, 1],
    ['another version', { ...call, jsonrpc: '1.0' }, 1],
    ['a method that is no text', { ...call, method: 1 }, 1],
    ['params that are no structure', { ...call, params: 'bar' }, 1],
    ['an id that is an object', { ...call, id: {} }, null],
  ])('refuses %s as no request', async (_name, body, id) => {
    expect(await answer(body)).toMatchObject({ jsonrpc: '2.0', id, error: { code: -32600 } });
  });

  it('answers a batch call by call', async () => {
    const batch = [call, { jsonrpc: '2.0', method: 'subtract' }, { foo: 'boo' }, { ...call, method: 'none', id: '5' }];
    expect(await answer(batch)).toEqual([
      { jsonrpc: '2.0', result: 19, id: 1 },
      expect.objectContaining({ id: null, error: expect.objectContaining({ code: -32600 }) }),
      expect.objectContaining({ id: '5', error: expect.objectContaining({ code: -32601 }) }),
    ]);
    expect(await answer([1, 2])).toHaveLength(2);
  });

  it('answers any JSON with an error or nothing, and never throws', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (body) => {
        const responses = [await answer(body)].flat();
        for (const response of responses) expect(response).toHaveProperty('error');
      }),
    );
  });
});
