import { describe, expect, it } from 'vitest';
import { PipelineCounter } from '../pipeline/numbers/pipelineNumbers.ts';
import { metricsText } from './metricsText.ts';
import { listen } from './testing/demoGateway.ts';
import { servedModels } from './testing/wholeModel.ts';

const counter = new PipelineCounter(2);
counter.add({ requests: 1, promptTokens: 20, cachedTokens: 5, generatedTokens: 7 });
counter.step([{ stage: 1, computeMs: 2, queueMs: 4, sentBytes: 300, wayMs: 1.5 }], 8);
counter.prefilled(40);
counter.add({ entryBytes: 900, exitBytes: 70 });
const numbers = counter.numbers({ running: 1, queued: 2, slots: 4, networkMs: 2, exitMs: null });

const predicted = {
  ...{ stageMs: [3, 5], hopMs: [2], entryMs: 0.5, exitMs: 1.5 },
  ...{ tokensPerSecond: 80, tokensPerSecondMany: 200, firstTokenMs: 900 },
};

describe('metricsText', () => {
  it('gives every number of a pipeline and its stages, times in seconds', () => {
    const text = metricsText([{ id: 'p1', modelId: 'a "b"\\c', predicted, numbers }]);
    const labels = 'pipeline="p1",model="a \\"b\\"\\\\c"';
    for (const [name, value] of Object.entries({ queued: 2, prompt_tokens_total: 20, cached_tokens_total: 5 })) {
      expect(text).toContain(`\nroomful_${name}{${labels}} ${value}\n`);
    }
    expect(text).toContain(`roomful_step_seconds{${labels}} 0.008\n`);
    expect(text).toContain(`roomful_stage_queue_seconds{${labels},stage="1"} 0.004\n`);
    expect(text).toContain(`roomful_stage_sent_bytes_total{${labels},stage="1"} 300\n`);
    expect(text).toContain(`roomful_stage_way_seconds{${labels},stage="1"} 0.0015\n`);
    expect(text).toContain(`roomful_entry_bytes_total{${labels}} 900\n`);
    expect(text).toContain(`roomful_exit_bytes_total{${labels}} 70\n`);
    expect(text).toContain(`roomful_prefill_seconds{${labels}} 0.04\n`);
    // What was expected stands beside it, under the same labels.
    expect(text).toContain(`roomful_predicted_tokens_per_second{${labels}} 80\n`);
    expect(text).toContain(`roomful_predicted_all_tokens_per_second{${labels}} 200\n`);
    expect(text).toContain(`roomful_predicted_step_seconds{${labels}} 0.012\n`);
    expect(text).toContain(`roomful_predicted_first_token_seconds{${labels}} 0.9\n`);
    expect(text).toContain(`roomful_predicted_exit_seconds{${labels}} 0.0015\n`);
    expect(text).toContain(`roomful_predicted_stage_compute_seconds{${labels},stage="1"} 0.005\n`);
    expect(text).toContain(`roomful_predicted_stage_way_seconds{${labels},stage="0"} 0.0005\n`);
    expect(text).toContain(`roomful_predicted_stage_way_seconds{${labels},stage="1"} 0.002\n`);
    // What was not measured is no number.
    expect(text).not.toContain(`roomful_stage_way_seconds{${labels},stage="0"}`);
    expect(text).not.toContain('roomful_exit_seconds{');
    const line = /^(# (HELP|TYPE) roomful_\w+ .+|roomful_\w+\{.+\} [\d.e+-]+)$/;
    for (const one of text.trimEnd().split('\n')) expect(one).toMatch(line);
  });

  it('is what /metrics answers', async () => {
    const driven = [{ id: 'p1', modelId: 'demo', predicted, numbers }];
    const gateway = await listen({ models: servedModels(), numbers: () => driven });
    const answer = await fetch(`${gateway.base}/metrics`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await answer.text()).toBe(metricsText(driven));
    await gateway.app.close();
  });
});
