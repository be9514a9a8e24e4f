import { absence } from '../admit/gates.ts';
import type { Assignment } from '../assign.ts';
import type { Settings } from '../costs/settings.ts';
import { formatBytes } from '../formatBytes.ts';
import { deviceClassOf, type Member } from '../member.ts';
import type { ModelShape } from '../modelShape.ts';
import type { Plan, PlannedPipeline } from '../plan.ts';
import { helpText } from './helpText.ts';
import { reasonText } from './reasonText.ts';

/** What a plan was made from. */
export interface PlanOrigin {
  members: readonly Member[];
  model: ModelShape;
  settings: Settings;
  assignment: Assignment;
}

type Facts = Omit<Plan, 'explain'>;
type NameOf = (address: string) => string;

/** One plain line for each decision of a plan, in the order in which they were taken. */
export function explain(plan: Facts, origin: PlanOrigin): string[] {
  const names = new Map(origin.members.map(({ address, name }) => [address, name ?? address]));
  const nameOf: NameOf = (address) => names.get(address) ?? address;
  const [first, ...others] = plan.pipelines;
  return [
    needLine(origin),
    ...buildLines(plan, origin, nameOf),
    ...plan.rejected.map(({ address, reason }) => `${nameOf(address)} is left out: ${reasonText(reason)}.`),
    ...(first === undefined
      ? failureLines(plan, origin, nameOf)
      : [...firstLines(plan, first, origin, nameOf), ...otherLines(plan, others, origin, nameOf)]),
    ...predictionLines(plan, origin, nameOf),
  ];
}

function needLine(origin: PlanOrigin): string {
  const { model, settings, assignment } = origin;
  const { costs } = assignment.packing;
  const bytes = costs.bytesByKind(0, costs.layerCount);
  const { weights, embedding, output, kv, compute } = bytes;
  const total = costs.bytes(0, costs.layerCount);
  const layers = plural(costs.layerCount, 'layer');
  if (kv + compute === 0) return `${model.name} takes ${formatBytes(total)} in ${layers}.`;
  return (
    `${model.name} takes ${formatBytes(total)}: ${formatBytes(weights + embedding + output)} weights in ` +
    `${layers}, ${formatBytes(kv)} KV cache for ${settings.contextLength} tokens over ${plural(settings.slots, 'slot')}, ` +
    `${formatBytes(compute)} buffers${attentionText(origin)}.`
  );
}

/** What members without flash attention need besides, where there are any. */
function attentionText({ members, assignment }: PlanOrigin): string {
  const { plainAttentionBytes } = assignment.packing.costs;
  if (plainAttentionBytes === 0 || members.every((member) => deviceClassOf(member) !== 'cpu')) return '';
  return `, and for attention ${formatBytes(plainAttentionBytes)} more on each member without a graphics card`;
}

/** Why members run this build and no other, where the user did not say and they differ. */
function buildLines({ fit, referenceCommit }: Facts, { members, settings }: PlanOrigin, nameOf: NameOf): string[] {
  const builds = new Set(members.filter((member) => absence(member, settings) === null).map(({ build }) => build));
  if (settings.referenceCommit !== null || referenceCommit === null || builds.size < 2) return [];
  const line = `The members run ${builds.size} builds of llama.cpp, and only equal ones serve together`;
  if (typeof settings.coordinator === 'string') {
    return [`${line}: ${nameOf(settings.coordinator)} leads, so ${referenceCommit} it is.`];
  }
  return [
    fit === 'DoesNotFit'
      ? `${line}; none holds the model, ${referenceCommit} comes nearest in GPU memory.`
      : `${line}: those that run ${referenceCommit} serve the model best.`,
  ];
}

function firstLines(plan: Facts, first: PlannedPipeline, origin: PlanOrigin, nameOf: NameOf): string[] {
  const { model, settings, assignment } = origin;
  const lines: string[] = [];
  const [stage] = first.stages;
  if (first.hops === 0 && stage !== undefined) {
    lines.push(`${nameOf(stage.address)} holds all of it, so no token crosses the network.`);
    if (model.unsplittableReason !== null) lines.push(`The model stays whole: ${model.unsplittableReason}.`);
  } else {
    lines.push(
      plan.fit === 'ClusterForced'
        ? 'One member would do, but a cluster was asked for.'
        : `No member can hold it alone${largestText(assignment, nameOf)}.`,
      settings.policy === 'proportional'
        ? `Everyone takes layers by memory: ${sharesText(first, nameOf)}. That is ${plural(first.hops, 'hop')}.`
        : `${settings.members === null ? 'These hold it together' : 'In your order'}: ` +
            `${sharesText(first, nameOf)}. That is ${plural(first.hops, 'hop')}, the fewest possible.`,
    );
  }
  const spilled = first.stages.reduce((sum, { plainRamBytes }) => sum + plainRamBytes, 0);
  const onCpu = first.stages.some(({ address }) =>
    assignment.usable.some((candidate) => candidate.address === address && candidate.deviceClass === 'cpu'),
  );
  if ((spilled > 0 || onCpu) && settings.plainRam === 'last-resort' && settings.policy === 'hop-minimal') {
    lines.push('Plain RAM is used, which is slow: GPUs and unified memory alone cannot hold the model.');
  }
  return lines;
}

function largestText({ usable }: Assignment, nameOf: NameOf): string {
  const [largest] = usable;
  return largest === undefined
    ? ''
    : `; the largest, ${nameOf(largest.address)}, has room for ${formatBytes(largest.capacity)}`;
}

function otherLines(
  plan: Facts,
  others: readonly PlannedPipeline[],
  { settings }: PlanOrigin,
  nameOf: NameOf,
): string[] {
  const lines = others.map(
    (pipeline, index) => `Pipeline ${index + 2} adds throughput: ${sharesText(pipeline, nameOf)}.`,
  );
  const { replicas } = settings;
  if (replicas !== null && plan.pipelines.length < Math.min(replicas, settings.maxReplicas)) {
    lines.push(
      settings.policy === 'proportional' && plan.hops > 0
        ? `${plural(replicas, 'pipeline')} asked for; a proportional plan is one, for everyone is part of it.`
        : `${plural(replicas, 'pipeline')} asked for; the members suffice for ${plan.pipelines.length}.`,
    );
  }
  if (plan.spare.length > 0) lines.push(`Not needed: ${plan.spare.map(nameOf).join(', ')}.`);
  return lines;
}

function sharesText({ stages }: PlannedPipeline, nameOf: NameOf): string {
  return stages
    .map(({ address, startLayer, endLayer }) => {
      const layers = endLayer - startLayer === 1 ? `layer ${startLayer}` : `layers ${startLayer} to ${endLayer - 1}`;
      return `${nameOf(address)} ${layers}`;
    })
    .join(', ');
}

function failureLines(plan: Facts, { model, settings, assignment }: PlanOrigin, nameOf: NameOf): string[] {
  const { missingBytes, help } = plan.shortfall ?? { missingBytes: 0, help: [] };
  const lines: string[] = [];
  const isWhole = assignment.packing.costs.boundaries.length === 2;
  if (model.unsplittableReason !== null) lines.push(`The model must stay whole: ${model.unsplittableReason}.`);
  if (settings.force === 'single') lines.push('One member was to hold all of it.');
  if (settings.force === 'cluster') lines.push('At least two members were to hold it.');
  if (missingBytes > 0) lines.push(`It does not fit: room for ${formatBytes(missingBytes)} is missing.`);
  else if (settings.force === 'cluster' && isWhole) lines.push('It cannot be cut, so it cannot be a cluster.');
  else lines.push('There is memory enough, but no ring of direct connections joins the members that have it.');
  return [...lines, ...help.map((each) => helpText(each, nameOf))];
}

function predictionLines(plan: Facts, { members, settings }: PlanOrigin, nameOf: NameOf): string[] {
  const { prediction } = plan;
  const [first] = plan.pipelines;
  if (prediction === null || first === undefined || settings.weightsOnly) return [];
  const { entryMs, exitMs, hops } = first.prediction;
  const networkMs = hops.reduce((sum, { ms }) => sum + ms, entryMs + exitMs);
  const onNetwork = networkMs > 0 ? `, ${milliseconds(networkMs)} of it on the network` : '';
  const lines = [
    `Predicted: ${speed(prediction.tokensPerSecond)} tokens/s for one request ` +
      `(${milliseconds(1000 / prediction.tokensPerSecond)} a token${onNetwork}), ` +
      `${speed(prediction.tokensPerSecondMany)} for ${settings.slots * plan.pipelines.length} at once; first token of a ` +
      `${prediction.promptTokens}-token prompt after ${milliseconds(prediction.firstTokenMs)}.`,
  ];
  const guessed = first.stages.filter(({ address }) => {
    const isMeasured = settings.measured.some((stage) => stage.address === address);
    return !isMeasured && members.some((member) => member.address === address && member.bandwidth === undefined);
  });
  if (guessed.length > 0) {
    lines.push(`The speed of ${guessed.map(({ address }) => nameOf(address)).join(', ')} is guessed, not measured.`);
  }
  const learnt = first.stages.filter(({ address }) =>
    members.some(
      ({ address: other, bandwidth, stageSpeed = 1 }) =>
        other === address && bandwidth !== undefined && stageSpeed !== 1,
    ),
  );
  if (learnt.length > 0) {
    const names = learnt.map(({ address }) => nameOf(address)).join(', ');
    lines.push(`The speed of ${names} is by what stages of this model were measured to take.`);
  }
  return lines;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function speed(tokensPerSecond: number): string {
  return tokensPerSecond.toFixed(tokensPerSecond < 99.95 ? 1 : 0);
}

function milliseconds(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms.toFixed(ms < 9.95 ? 1 : 0)} ms`;
}
