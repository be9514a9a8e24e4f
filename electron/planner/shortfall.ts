import { type Assignment, assign } from './assign.ts';
import { type Candidate, offerFor } from './candidate.ts';
import { furthest } from './furthest.ts';
import { leastPart } from './gates.ts';
import type { Member } from './member.ts';
import type { ModelShape } from './modelShape.ts';
import type { RangeCosts } from './rangeCosts.ts';
import type { Settings } from './settings.ts';

/** What a room lacks to serve a model, and what would help. */
export interface Shortfall {
  /** Bytes of the layers that no admitted member has room for; 0 where not memory but connections are missing. */
  missingBytes: number;
  /** Each alone would do. */
  help: Help[];
}

export type Help =
  /** A further member that shares so much. */
  | { kind: 'AnotherMember'; memoryBytes: number }
  /** The largest member, if it shared so much. */
  | { kind: 'MoreMemory'; address: string; memoryBytes: number }
  | { kind: 'SmallerContext'; contextLength: number }
  | { kind: 'SmallerKvType'; kvType: 'q8_0' }
  /** `fraction` of the weights' bytes; `quant` names one of that size where the number of weights is known. */
  | { kind: 'SmallerQuant'; fraction: number; quant: string | null }
  | { kind: 'PlainRam' }
  | { kind: 'ForceNothing' };

/** Common quants by the bits that they take for a weight (llama.cpp, `examples/quantize`). */
const quants: readonly (readonly [string, number])[] = [
  ['Q8_0', 8.5],
  ['Q6_K', 6.56],
  ['Q5_K_M', 5.7],
  ['Q4_K_M', 4.89],
  ['Q3_K_M', 3.91],
  ['Q2_K', 3.0],
];
const contextStep = 256;
/** A smaller quant than this fraction is no advice. */
const leastFraction = 0.2;

/** Works out what is missing where `assign` found no place for the model. */
export function shortfall(
  model: ModelShape,
  members: readonly Member[],
  settings: Settings,
  { packing, admitted, usesPlainRam }: Assignment,
): Shortfall {
  const { costs } = packing;
  const fits = (changedModel: ModelShape, changed: Partial<Settings>) =>
    assign(changedModel, members, { ...settings, ...changed }).pipelines.length > 0;
  const whole = settings.force === 'single' || costs.boundaries.length === 2;
  const missingBytes = missing(admitted, costs, settings, whole);
  const help: Help[] = [];
  if (settings.force !== null && fits(model, { force: null })) help.push({ kind: 'ForceNothing' });
  if (!usesPlainRam && settings.plainRam === 'never' && fits(model, { plainRam: 'last-resort' })) {
    help.push({ kind: 'PlainRam' });
  }
  if (missingBytes > 0) help.push(...memoryHelp(admitted, costs, settings, whole));
  const context = largestContext((contextLength) => fits(model, { contextLength }), settings);
  if (context !== null) help.push({ kind: 'SmallerContext', contextLength: context });
  if (settings.kvType === 'f16' && fits(model, { kvType: 'q8_0' }))
    help.push({ kind: 'SmallerKvType', kvType: 'q8_0' });
  const quant = largestQuant(model, (changed) => fits(changed, {}));
  if (quant !== null) help.push(quant);
  return { missingBytes, help };
}

/** What is left of the model when every admitted member holds all the layers that it can. */
function missing(admitted: readonly Candidate[], costs: RangeCosts, { force }: Settings, whole: boolean): number {
  const { layerCount } = costs;
  if (whole) return Math.max(0, costs.bytes(0, layerCount) - Math.max(0, ...admitted.map(({ capacity }) => capacity)));
  const reached = reach(admitted, costs);
  if (reached < layerCount) return costs.bytes(reached, layerCount);
  return force === 'cluster' && admitted.length < 2 ? leastPart(costs) : 0;
}

/** The layer that members reach when each is filled in turn. */
function reach(members: readonly Candidate[], costs: RangeCosts): number {
  const parts = costs.boundaries.length - 1;
  const at = members.reduce(
    (from, { capacity }) => (from === parts ? from : furthest(costs, capacity, from, parts)),
    0,
  );
  return costs.boundaries[at] ?? 0;
}

function memoryHelp(admitted: readonly Candidate[], costs: RangeCosts, settings: Settings, whole: boolean): Help[] {
  const { layerCount } = costs;
  const restAfter = (members: readonly Candidate[]) =>
    costs.bytes(whole ? 0 : Math.min(reach(members, costs), lastBoundary(costs)), layerCount);
  const help: Help[] = [{ kind: 'AnotherMember', memoryBytes: offerFor(restAfter(admitted), null, settings.headroom) }];
  const [largest, ...others] = admitted;
  if (largest !== undefined && settings.force !== 'cluster') {
    const memoryBytes = offerFor(restAfter(others), largest, settings.headroom);
    help.push({ kind: 'MoreMemory', address: largest.address, memoryBytes });
  }
  return help;
}

/** Where the last part of the model begins. */
function lastBoundary({ boundaries }: RangeCosts): number {
  return boundaries.at(-2) ?? 0;
}

function largestContext(fits: (contextLength: number) => boolean, settings: Settings): number | null {
  let low = 0;
  let high = Math.ceil(settings.contextLength / contextStep) - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle * contextStep)) low = middle;
    else high = middle - 1;
  }
  return low > 0 && fits(low * contextStep) ? low * contextStep : null;
}

function largestQuant(model: ModelShape, fits: (model: ModelShape) => boolean): Help | null {
  const bytes = model.layers.reduce(
    (sum, { weightBytes }) => sum + weightBytes,
    model.embeddingBytes + model.outputBytes,
  );
  const choices =
    model.parameters === undefined
      ? Array.from({ length: 19 }, (_, index) => ({ quant: null, fraction: 0.95 - index * 0.05 }))
      : quants.map(([quant, bits]) => ({ quant, fraction: (bits * (model.parameters ?? 0)) / 8 / bytes }));
  for (const { quant, fraction } of choices) {
    if (fraction >= 0.97 || fraction < leastFraction) continue;
    if (fits(scaled(model, fraction))) return { kind: 'SmallerQuant', fraction, quant };
  }
  return null;
}

function scaled(model: ModelShape, fraction: number): ModelShape {
  return {
    ...model,
    embeddingBytes: model.embeddingBytes * fraction,
    outputBytes: model.outputBytes * fraction,
    layers: model.layers.map((layer) => ({
      ...layer,
      weightBytes: layer.weightBytes * fraction,
      expertBytes: (layer.expertBytes ?? 0) * fraction,
    })),
  };
}
