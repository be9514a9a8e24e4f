import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compactPlan } from '../../planner/compactPlan.ts';
import { LOCAL_TOKEN, listen, type RunningGateway } from '../testing/demoGateway.ts';
import { rawHttp } from '../testing/rawHttp.ts';
import { servedModels } from '../testing/wholeModel.ts';

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await listen({ models: servedModels(), bodyLimit: 100_000 });
});
afterAll(() => gateway.app.close());

const headers = { 'content-type': 'application/json', authorization: `Bearer ${LOCAL_TOKEN}` };
const post = async (body: string | Buffer) => {
  const { status, text } = await rawHttp(gateway.port, { method: 'POST', path: '/api/rpc', headers, body });
  return { status, body: text === '' ? null : JSON.parse(text) };
};
const member = (address: string) => ({
  address,
  vram_gb: 80,
  backend: 'Cuda',
  cap_key: '',
  llama_commit: 'c1',
  local_endpoint: `${address}.local:7000`,
  reachability: 'LocalDirect',
});
const params = {
  model: { layers: 80, hidden_dim: 8192, total_vram_gb: 140 },
  members: [member('a1'), member('b2')],
  user_forced: false,
};
const call = (id: unknown, changes: object = {}) => ({
  jsonrpc: '2.0',
  method: 'clusterPlan',
  params: { ...params, ...changes },
  id,
});

describe('clusterPlan over JSON-RPC', () => {
  it('answers the plan of the params', async () => {
    const { status, body } = await post(JSON.stringify(call(1)));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      result: {
        fit: 'ClusterRequired',
        forms_cluster: true,
        activation_bytes_per_token: 16384,
        stages: [
          { address: 'a1', start_layer: 0, end_layer: 39 },
          { address: 'b2', start_layer: 40, end_layer: 79 },
        ],
      },
    });
    expect(body.result).toEqual(JSON.parse(JSON.stringify(compactPlan(params))));
  });

  it.each([
    [{ model: { ...params.model, layers: -1 } }, 'model.layers'],
    [{ model: undefined }, 'model'],
    [{ members: [{ ...member('a1'), vram_gb: 'many' }] }, 'members[0].vram_gb'],
    [{ user_forced: 'yes' }, 'user_forced'],
  ])('names the field of %j that is wrong', async (changes, field) => {
    const { status, body } = await post(JSON.stringify(call('x', changes)));
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: 'x', error: { code: -32602, data: { field } } });
    expect(body.error.message).toContain(field);
  });

  it('refuses params that are missing or a list', async () => {
    for (const wrong of [{}, { params: [] }]) {
      const { body } = await post(JSON.stringify({ jsonrpc: '2.0', method: 'clusterPlan', id: 1, ...wrong }));
      expect(body).toMatchObject({ id: 1, error: { code: -32602 } });
    }
  });

  it('answers a batch, and a batch of notifications with nothing', async () => {
    const batch = await post(JSON.stringify([call(1), call(undefined), call(2, { user_forced: 1 }), 3]));
    expect(batch.body).toHaveLength(3);
    expect(batch.body).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: {} },
      { id: null, error: {} },
    ]);
    expect(await post(JSON.stringify([call(undefined)]))).toEqual({ status: 204, body: null });
  });

  it.each(['{', '', Buffer.from([0xff])])('calls %j no JSON', async (body) => {
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { jsonrpc: '2.0', id: null, error: { code: -32700 } } });
  });

  it('refuses a body over the limit with 413', async () => {
    const answer = await post(JSON.stringify('a'.repeat(100_000)));
    expect(answer).toMatchObject({ status: 413, body: { error: { code: 'request_too_large' } } });
  });
});
