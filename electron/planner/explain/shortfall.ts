import { type Candidate, offerFor } from '../admit/candidate.ts';
import { leastPart } from '../admit/gates.ts';
import { type Assignment, assign } from '../assign.ts';
import { fileBytes, type RangeCosts } from '../costs/rangeCosts.ts';
import type { Settings } from '../costs/settings.ts';
import type { Member } from '../member.ts';
import type { ModelShape } from '../modelShape.ts';
import type { Packing } from '../pack/packing.ts';
import { type LetIn, letIn } from './letIn.ts';

/** What a room lacks to serve a model, and what would help. */
export interface Shortfall {
  /** Bytes of the layers that no member has room for; 0 where not memory but something else is missing. */
  missingBytes: number;
  /** Each alone would do. */
  help: Help[];
}

export type Help =
  /** A further member that shares so much. */
  | { kind: 'AnotherMember'; memoryBytes: number }
  /** The largest member, if it shared so much. */
  | { kind: 'MoreMemory'; address: string; memoryBytes: number }
  /** `contextLength` is the total over all slots, as in the options. */
  | { kind: 'SmallerContext'; contextLength: number; perRequest: number }
  | { kind: 'SmallerKvType'; kvType: 'q8_0' }
  /** `fraction` of the weights' bytes; `quant` names one of that size where the number of weights is known. */
  | { kind: 'SmallerQuant'; fraction: number; quant: string | null }
  | { kind: 'PlainRam' }
  | LetIn
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

/** The room with something changed. */
interface Change {
  model?: ModelShape;
  members?: readonly Member[];
  settings?: Partial<Settings>;
}

type Fits = (change: Change) => boolean;

/** Works out what is missing where `assign` found no place for the model. Every piece of advice was tried. */
export function shortfall(
  model: ModelShape,
  members: readonly Member[],
  settings: Settings,
  assignment: Assignment,
): Shortfall {
  const fits: Fits = (change) =>
    assign(change.model ?? model, change.members ?? members, { ...settings, maxReplicas: 1, ...change.settings }, 'any')
      .pipelines.length > 0;
  const help: Help[] = [];
  if (settings.force !== null && fits({ settings: { force: null } })) help.push({ kind: 'ForceNothing' });
  if (settings.plainRam === 'never' && fits({ settings: { plainRam: 'last-resort' } })) help.push({ kind: 'PlainRam' });
  help.push(...letIn(members, assignment.rejected, settings, assignment.referenceCommit, fits));
  help.push(...memoryHelp(members, settings, assignment, fits));
  const context = largestContext((contextLength) => fits({ settings: { contextLength } }), settings);
  if (context !== null) {
    const perRequest = Math.floor(context / settings.slots);
    help.push({ kind: 'SmallerContext', contextLength: context, perRequest });
  }
  if (settings.kvType === 'f16' && fits({ settings: { kvType: 'q8_0' } })) {
    help.push({ kind: 'SmallerKvType', kvType: 'q8_0' });
  }
  const quant = largestQuant(model, (changed) => fits({ model: changed }));
  if (quant !== null) help.push(quant);
  return { missingBytes: missing(assignment, settings), help };
}

/** What is left of the model when every usable member holds all the layers that it can. */
function missing({ usable, packing }: Assignment, settings: Settings): number {
  const { costs } = packing;
  const { layerCount } = costs;
  // The compact form counts whole layers, whoever was to hold them.
  if (settings.weightsOnly && settings.force === 'single') {
    return costs.bytes(reach(usable.slice(0, 1), packing), layerCount);
  }
  if (staysWhole(costs, settings)) {
    return Math.max(0, costs.bytes(0, layerCount) - Math.max(0, ...usable.map(({ capacity }) => capacity)));
  }
  const reached = reach(usable, packing);
  if (reached < layerCount) return costs.bytes(reached, layerCount);
  return settings.force === 'cluster' && usable.length < 2 ? leastPart(costs) : 0;
}

function staysWhole({ boundaries }: RangeCosts, { force }: Settings): boolean {
  return force === 'single' || boundaries.length === 2;
}

/** The layer that members reach when each is filled in turn. */
function reach(members: readonly Candidate[], { costs, reachOf }: Packing): number {
  const parts = costs.boundaries.length - 1;
  const at = members.reduce((from, { capacity }) => (from === parts ? from : reachOf(capacity).to(from, parts)), 0);
  return costs.boundaries[at] ?? 0;
}

/** The address of a member that does not exist yet: higher than all others, so that it wins no tie. */
const newcomer = '\uffff';

function memoryHelp(
  members: readonly Member[],
  settings: Settings,
  { usable, tooSmall, packing, referenceCommit }: Assignment,
  fits: Fits,
): Help[] {
  const { costs } = packing;
  const lastPart = costs.boundaries.at(-2) ?? 0;
  const restAfter = (others: readonly Candidate[]) =>
    costs.bytes(staysWhole(costs, settings) ? 0 : Math.min(reach(others, packing), lastPart), costs.layerCount);
  const help: Help[] = [];

  // The newcomer may come to lead, and then the draft lies there.
  const memoryBytes = offerFor(restAfter(usable) + settings.draft.bytes, null, settings.headroom);
  const another: Member = { address: newcomer, backend: 'Cuda', memoryBytes, build: referenceCommit ?? 'any' };
  const chosen = settings.members === null ? null : [...settings.members, newcomer];
  if (fits({ members: [...members, another], settings: { members: chosen } })) {
    help.push({ kind: 'AnotherMember', memoryBytes });
  }

  const others = usable.slice(1);
  const largest = usable[0] ?? tooSmall[0];
  if (largest === undefined) return help;
  const { address } = largest;
  const grown = offerFor(restAfter(others), largest, settings.headroom);
  const larger = members.map((each) => (each.address === address ? { ...each, memoryBytes: grown } : each));
  if (fits({ members: larger })) help.push({ kind: 'MoreMemory', address, memoryBytes: grown });
  return help;
}

function largestContext(fits: (contextLength: number) => boolean, settings: Settings): number | null {
  let low = 0;
  let high = Math.ceil(settings.contextLength / contextStep) - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle * contextStep)) low = middle;
    else high = middle - 1;
  }
  const most = low * contextStep;
  return most >= settings.slots && fits(most) ? most : null;
}

function largestQuant(model: ModelShape, fits: (model: ModelShape) => boolean): Help | null {
  const bytes = fileBytes(model);
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
    tiedBytes: (model.tiedBytes ?? 0) * fraction,
    layers: model.layers.map((layer) => ({
      ...layer,
      weightBytes: layer.weightBytes * fraction,
      expertBytes: (layer.expertBytes ?? 0) * fraction,
    })),
  };
}
