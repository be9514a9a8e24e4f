import { formatBytes } from './formatBytes.ts';
import type { RejectionReason } from './gates.ts';
import { deviceClassOf, type Member } from './member.ts';
import type { ModelShape } from './modelShape.ts';
import type { Plan, PlannedPipeline } from './plan.ts';
import { rangeCosts } from './rangeCosts.ts';
import type { Settings } from './settings.ts';
import type { Help } from './shortfall.ts';
import { totalOf } from './stageBytes.ts';

/** One plain line for each decision of a plan, in the order in which they were taken. */
export function explain(
  plan: Omit<Plan, 'explain'>,
  members: readonly Member[],
  model: ModelShape,
  settings: Settings,
): string[] {
  const names = new Map(members.map(({ address, name }) => [address, name ?? address]));
  const nameOf = (address: string) => names.get(address) ?? address;
  const lines = [
    needLine(model, settings),
    ...plan.rejected.map(({ address, reason }) => `${nameOf(address)} is left out: ${reasonText(reason)}.`),
    ...choiceLines(plan, nameOf, members, model, settings),
  ];
  const { prediction } = plan;
  if (prediction !== null) lines.push(predictionLine(plan, prediction, settings));
  return lines;
}

function needLine(model: ModelShape, settings: Settings): string {
  const { weights, embedding, output, kv, compute } = rangeCosts(model, settings).bytesByKind(0, model.layers.length);
  const total = totalOf({ weights, embedding, output, kv, compute });
  const extra =
    kv + compute > 0
      ? `, ${formatBytes(kv)} KV cache for ${settings.contextLength} tokens, ${formatBytes(compute)} buffers`
      : '';
  return `${model.name} takes ${formatBytes(total)}: ${formatBytes(weights + embedding + output)} weights in ${model.layers.length} layers${extra}.`;
}

/** Why a member holds no layer, as the rest of a sentence. */
export function reasonText(reason: RejectionReason): string {
  switch (reason.kind) {
    case 'Excluded':
      return 'you chose others';
    case 'Paused':
      return 'sharing is paused there';
    case 'Stale':
      return 'it has not been heard of lately';
    case 'BuildMismatch':
      return `it runs llama.cpp ${reason.found}, the pool runs ${reason.expected}`;
    case 'NotDataPlaneReachable':
      return reason.reachability === 'RelayOnly'
        ? 'it is reached only through a relay, and activations need a direct connection'
        : 'no direct connection leads there and back, and activations need one';
    case 'InsufficientMemory':
      return `it shares ${formatBytes(reason.offered)}, the smallest part needs ${formatBytes(reason.needed)}`;
    case 'TooManyMembers':
      return `${reason.members} members are more than the ${reason.parts} parts that the model can be cut into`;
  }
}

type NameOf = (address: string) => string;

function choiceLines(
  plan: Omit<Plan, 'explain'>,
  nameOf: NameOf,
  members: readonly Member[],
  model: ModelShape,
  settings: Settings,
): string[] {
  const [first, ...others] = plan.pipelines;
  if (first === undefined) return failureLines(plan, nameOf, model, settings);
  const lines = [...firstLines(plan, first, nameOf, settings)];
  const usedClasses = new Set(
    first.stages.flatMap(({ address }) => members.filter((member) => member.address === address).map(deviceClassOf)),
  );
  if (usedClasses.has('cpu') && settings.plainRam === 'last-resort' && settings.policy === 'hop-minimal') {
    lines.push('Plain RAM is used because the model fits no other way; it is slow.');
  }
  if (model.unsplittableReason !== null) lines.push(`The model stays whole: ${model.unsplittableReason}.`);
  others.forEach((pipeline, index) => {
    lines.push(`Pipeline ${index + 2}: ${shareText(pipeline, nameOf)}. Spare machines buy throughput, not depth.`);
  });
  if (settings.replicas !== null && plan.pipelines.length < Math.min(settings.replicas, settings.maxReplicas)) {
    lines.push(`${settings.replicas} pipelines were asked for, the members suffice for ${plan.pipelines.length}.`);
  }
  if (plan.spare.length > 0) lines.push(`Not needed: ${plan.spare.map(nameOf).join(', ')}.`);
  return lines;
}

function firstLines(plan: Omit<Plan, 'explain'>, first: PlannedPipeline, nameOf: NameOf, settings: Settings): string[] {
  const [stage] = first.stages;
  if (first.hops === 0 && stage !== undefined) {
    return [`${nameOf(stage.address)} holds all layers, so no token crosses the network.`];
  }
  const hops = `${first.hops} ${first.hops === 1 ? 'hop' : 'hops'}`;
  const why =
    plan.fit === 'ClusterForced'
      ? 'One member would do, but a cluster was asked for.'
      : 'No single member can hold it.';
  const how =
    settings.policy === 'proportional'
      ? `Each takes layers by its memory: ${shareText(first, nameOf)}; ${hops}.`
      : `The strongest are filled first: ${shareText(first, nameOf)}; ${hops}, the fewest possible.`;
  return [why, how];
}

function shareText(pipeline: PlannedPipeline, nameOf: NameOf): string {
  return pipeline.stages
    .map(({ address, startLayer, endLayer }) => `${nameOf(address)} ${startLayer} to ${endLayer - 1}`)
    .join(', ');
}

function predictionLine(
  plan: Omit<Plan, 'explain'>,
  { tokensPerSecond, tokensPerSecondMany, firstTokenMs, promptTokens }: NonNullable<Plan['prediction']>,
  settings: Settings,
): string {
  const all = settings.slots * plan.pipelines.length;
  return (
    `Predicted: ${speed(tokensPerSecond)} tokens/s for one request, ${speed(tokensPerSecondMany)} for ${all} at once; ` +
    `first token after ${seconds(firstTokenMs)} for a prompt of ${promptTokens} tokens.`
  );
}

function speed(tokensPerSecond: number): string {
  return tokensPerSecond >= 100 ? tokensPerSecond.toFixed(0) : tokensPerSecond.toFixed(1);
}

function seconds(ms: number): string {
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.ceil(ms)} ms`;
}

function failureLines(plan: Omit<Plan, 'explain'>, nameOf: NameOf, model: ModelShape, settings: Settings): string[] {
  const { missingBytes, help } = plan.shortfall ?? { missingBytes: 0, help: [] };
  const lines: string[] = [];
  if (model.unsplittableReason !== null) lines.push(`The model must stay whole: ${model.unsplittableReason}.`);
  else if (settings.force === 'single') lines.push('One member was to hold it all, and none can.');
  else if (settings.force === 'cluster') lines.push('A cluster of at least two members was asked for.');
  lines.push(
    missingBytes > 0
      ? `It does not fit: ${formatBytes(missingBytes)} are missing.`
      : 'Memory would suffice, but no ring of direct connections joins the members that hold it.',
  );
  return [...lines, ...help.map((each) => `${helpText(each, nameOf)} would help.`)];
}

function helpText(help: Help, nameOf: NameOf): string {
  switch (help.kind) {
    case 'AnotherMember':
      return `Another member that shares ${formatBytes(help.memoryBytes)}`;
    case 'MoreMemory':
      return `${formatBytes(help.memoryBytes)} shared by ${nameOf(help.address)}`;
    case 'SmallerContext':
      return `A context of ${help.contextLength} tokens`;
    case 'SmallerKvType':
      return `A KV cache of type ${help.kvType}`;
    case 'SmallerQuant':
      return help.quant === null
        ? `A quant of ${Math.floor(help.fraction * 100)} % of the size`
        : `A smaller quant, ${help.quant} (${Math.floor(help.fraction * 100)} % of the size),`;
    case 'PlainRam':
      return 'Plain RAM';
    case 'ForceNothing':
      return 'Leaving the number of members to the planner';
  }
}
