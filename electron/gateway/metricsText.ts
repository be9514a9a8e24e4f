import type { DrivenNumbers } from '../pipeline/forming/pipelineHost.ts';
import type { PipelineNumbers, StageNumbers } from '../pipeline/numbers/pipelineNumbers.ts';
import type { PlannedPace } from '../pipeline/numbers/pipelineReport.ts';

interface Metric<T> {
  name: string;
  type: 'counter' | 'gauge';
  help: string;
  /** Null where nothing was measured. */
  read(numbers: T): number | null;
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
    name: 'prefill_seconds',
    type: 'gauge',
    help: 'A chunk of a prompt from sending to return, moving average.',
    read: (now) => seconds(now.prefillMs || null),
  },
  {
    name: 'network_seconds',
    type: 'gauge',
    help: 'Of a decode step, the time between processes.',
    read: (now) => now.networkMs / 1000,
  },
  {
    name: 'exit_seconds',
    type: 'gauge',
    help: 'From the last stage back to the member that drives the pipeline.',
    read: (now) => seconds(now.exitMs),
  },
  {
    name: 'entry_bytes_total',
    type: 'counter',
    help: 'Frames sent to the first stage, where it is on another member.',
    read: (now) => now.entryBytes,
  },
  {
    name: 'exit_bytes_total',
    type: 'counter',
    help: 'Frames that came back from the last stage, where it is on another member.',
    read: (now) => now.exitBytes,
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
    help: 'Activations that a stage has sent to the next one; the last sends tokens, which are not counted.',
    read: (now) => now.sentBytes,
  },
  {
    name: 'stage_way_seconds',
    type: 'gauge',
    help: 'To a stage from the process before it.',
    read: (now) => seconds(now.wayMs),
  },
];

/** What the planner expects, of one token of one request where nothing else is said. */
const ofPredictions: readonly Metric<PlannedPace>[] = [
  {
    name: 'predicted_tokens_per_second',
    type: 'gauge',
    help: 'Predicted for one request that is alone.',
    read: (pace) => pace.tokensPerSecond,
  },
  {
    name: 'predicted_all_tokens_per_second',
    type: 'gauge',
    help: 'Predicted for all slots together.',
    read: (pace) => pace.tokensPerSecondMany,
  },
  {
    name: 'predicted_step_seconds',
    type: 'gauge',
    help: 'Predicted for a decode step of one request.',
    read: ({ stageMs, hopMs, entryMs, exitMs }) =>
      [...stageMs, ...hopMs, entryMs, exitMs].reduce((sum, ms) => sum + ms, 0) / 1000,
  },
  {
    name: 'predicted_first_token_seconds',
    type: 'gauge',
    help: 'Predicted from a prompt of middling length to its first token.',
    read: (pace) => pace.firstTokenMs / 1000,
  },
  {
    name: 'predicted_exit_seconds',
    type: 'gauge',
    help: 'Predicted from the last stage back to the member that drives the pipeline.',
    read: (pace) => pace.exitMs / 1000,
  },
];

const ofPredictedStages: readonly Metric<{ computeMs: number; wayMs: number }>[] = [
  {
    name: 'predicted_stage_compute_seconds',
    type: 'gauge',
    help: 'Predicted for a stage that computes a decode step.',
    read: (stage) => stage.computeMs / 1000,
  },
  {
    name: 'predicted_stage_way_seconds',
    type: 'gauge',
    help: 'Predicted to a stage from the process before it.',
    read: (stage) => stage.wayMs / 1000,
  },
];

/** What the pipelines of this member have done, and what was predicted of them, in Prometheus' text format 0.0.4; names begin with `roomful_`, times are seconds. */
export function metricsText(pipelines: readonly DrivenNumbers[]): string {
  const labels = ({ id, modelId }: DrivenNumbers): string => `pipeline="${escaped(id)}",model="${escaped(modelId)}"`;
  const ofEach = <T>(metrics: readonly Metric<T>[], of: (one: DrivenNumbers) => T): string[] =>
    metrics.map((metric) =>
      block(
        metric,
        pipelines.map((one) => ({ labels: labels(one), value: metric.read(of(one)) })),
      ),
    );
  const ofEachStage = <T>(metrics: readonly Metric<T>[], of: (one: DrivenNumbers) => readonly T[]): string[] =>
    metrics.map((metric) =>
      block(
        metric,
        pipelines.flatMap((one) =>
          of(one).map((stage, index) => ({ labels: `${labels(one)},stage="${index}"`, value: metric.read(stage) })),
        ),
      ),
    );
  const blocks = [
    ...ofEach(ofPipelines, ({ numbers }) => numbers),
    ...ofEachStage(ofStages, ({ numbers }) => numbers.stages),
    ...ofEach(ofPredictions, ({ predicted }) => predicted),
    ...ofEachStage(ofPredictedStages, ({ predicted: { stageMs, hopMs, entryMs } }) =>
      stageMs.map((computeMs, index) => ({ computeMs, wayMs: (index === 0 ? entryMs : hopMs[index - 1]) ?? 0 })),
    ),
  ];
  return blocks.join('');
}

function block<T>({ name, type, help }: Metric<T>, samples: { labels: string; value: number | null }[]): string {
  const lines = samples.map(({ labels, value }) => (value === null ? '' : `roomful_${name}{${labels}} ${value}\n`));
  return `# HELP roomful_${name} ${help}\n# TYPE roomful_${name} ${type}\n${lines.join('')}`;
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}

function escaped(label: string): string {
  return label.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
