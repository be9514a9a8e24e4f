import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_MODEL_ID, demoGateway } from './testing/demoGateway.ts';
import { cases, expectCase, firstTokenOfPlain, openAiCase, sendCase } from './testing/openaiCases.ts';

describe('the cases of e2e/cases/openai', () => {
  let gateway: Awaited<ReturnType<typeof demoGateway>>;
  let firstToken: number;
  beforeAll(async () => {
    gateway = await demoGateway();
    firstToken = await firstTokenOfPlain(gateway.model);
  });
  afterAll(() => gateway.close());
  const target = () => ({ port: gateway.port, model: DEMO_MODEL_ID, firstToken });

  for (const one of cases) it(one.name, () => expectCase(target(), one));

  it('plain, with any Authorization', async () => {
    for (const authorization of ['Bearer sk-anything', 'Basic Og==']) {
      expect((await sendCase(target(), openAiCase('plain'), { authorization })).status).toBe(200);
    }
  });

  it('options, on every route', async () => {
    for (const path of ['/v1/models', '/v1/models/demo', '/health', '/api/rpc', '/nowhere']) {
      const answer = await sendCase(target(), { ...openAiCase('options'), path });
      expect(answer.status, path).toBe(204);
      expect(answer.headers['access-control-allow-origin'], path).toBe(gateway.base);
    }
  });
});
