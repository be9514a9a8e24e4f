import type { DrivenNumbers } from '../pipeline/pipelineHost.ts';
import type { PipelineNumbers, StageNumbers } from '../pipeline/pipelineNumbers.ts';

interface Metric<T> {
  name: string;
  type: 'counter' | 'gauge';
  help: string;
  read(numbers: T): number;
}

const ofPipelines: readonly Metric<PipelineNumbers>[] = [
  { name: 'running', type: 'gauge', help: 'Requests that hold a slot.', read: (now) => now.running },
  { name: 'queued', type: 'gauge', help: 'Requests that wait for a slot.', read: (now) => now.queued },
  { name: 'slots', type: 'gauge', help: 'Slots.', read: (now) => now.slots },
  { name: 'steps_total', type: 'counter', help: 'Steps.', read: (now) => now.steps },
  { name: 'requests_total', type: 'counter', help: 'Requests.', read: (now) => now.requests },
  {
    name: 'prompt_tokens_total',
    type: 'counter',
    help: 'Tokens of prompts that were computed.',
    read: (now) => now.promptTokens,
  },
  {
    name: 'cached_tokens_total',
    type: 'counter',
    help: 'Tokens of prompts that were there already.',
    read: (now) => now.cachedTokens,
  },
  { name: 'generated_tokens_total', type: 'counter', help: 'Tokens of answers.', read: (now) => now.generatedTokens },
  { name: 'drafted_tokens_total', type: 'counter', help: 'Tokens guessed ahead.', read: (now) => now.draftedTokens },
  {
    name: 'accepted_tokens_total',
    type: 'counter',
    help: 'Tokens guessed ahead that were right.',
    read: (now) => now.acceptedTokens,
  },
  {
    name: 'step_seconds',
    type: 'gauge',
    help: 'A decode step from sending to return, moving average.',
    read: (now) => now.stepMs / 1000,
  },
  {
    name: 'network_seconds',
    type: 'gauge',
    help: 'Of a decode step, the time between processes.',
    read: (now) => now.networkMs / 1000,
  },
];

const ofStages: readonly Metric<StageNumbers>[] = [
  {
    name: 'stage_compute_seconds',
    type: 'gauge',
    help: 'A stage computes a decode step, moving average.',
    read: (now) => now.computeMs / 1000,
  },
  {
    name: 'stage_queue_seconds',
    type: 'gauge',
    help: 'A decode step waits in a stage, moving average.',
    read: (now) => now.queueMs / 1000,
  },
  {
    name: 'stage_sent_bytes_total',
    type: 'counter',
    help: 'Sent by a stage to the next process.',
    read: (now) => now.sentBytes,
  },
];

/** What the pipelines of this member have done, in Prometheus' text format 0.0.4; names begin with `roomful_`, times are seconds. */
export function metricsText(pipelines: readonly DrivenNumbers[]): string {
  const labels = ({ id, modelId }: DrivenNumbers): string => `pipeline="${escaped(id)}",model="${escaped(modelId)}"`;
  const blocks = [
    ...ofPipelines.map((metric) =>
      block(
        metric,
        pipelines.map((one) => ({ labels: labels(one), value: metric.read(one.numbers) })),
      ),
    ),
    ...ofStages.map((metric) =>
      block(
        metric,
        pipelines.flatMap((one) =>
          one.numbers.stages.map((stage, index) => ({
            labels: `${labels(one)},stage="${index}"`,
            value: metric.read(stage),
          })),
        ),
      ),
    ),
  ];
  return blocks.join('');
}

function block<T>({ name, type, help }: Metric<T>, samples: { labels: string; value: number }[]): string {
  const lines = samples.map(({ labels, value }) => `roomful_${name}{${labels}} ${value}\n`);
  return `# HELP roomful_${name} ${help}\n# TYPE roomful_${name} ${type}\n${lines.join('')}`;
}

function escaped(label: string): string {
  return label.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
