import { type ArchitectureRules, architectureRules, multiplesOf } from './architectures.ts';
import { oneLine } from './ggufError.ts';
import type { ModelSource } from './openModel.ts';
import { textEmbedding } from './textEmbedding.ts';

/** Where a model may be cut, or why it may not. */
export interface Splittability {
  /** Layers at which a stage may begin, ascending, without 0; empty where the model must stay whole. */
  cutPoints: number[];
  /** One line, null where the model may be cut. */
  unsplittableReason: string | null;
}

/** Columns of an embedding; the widest known have 16,384. */
const widestModel = 1 << 20;

/** Decides by the table of architectures, on the header alone. */
export function splittability(
  model: ModelSource,
  rules: ArchitectureRules | undefined = architectureRules(model.architecture),
): Splittability {
  const reason = whyWhole(model, rules);
  if (reason !== null || rules === undefined) return { cutPoints: [], unsplittableReason: reason };
  const cutPoints = rules.cutPoints?.(model) ?? multiplesOf(1, model.layers);
  const tooFew = `with ${model.layers} layers it has no place to be cut`;
  return { cutPoints, unsplittableReason: cutPoints.length > 0 ? null : tooFew };
}

const isEmbeddingModel = 'it is an embedding model, and those serve on one member';

function whyWhole(model: ModelSource, rules: ArchitectureRules | undefined): string | null {
  const { architecture } = model;
  if (textEmbedding(model.metadata, architecture) !== null) return isEmbeddingModel;
  if (rules === undefined) return `the architecture '${architecture}' is not proven to be exact in stages`;
  return (
    rules.refuse?.(model) ??
    uneven(model, rules) ??
    unknownArray(model) ??
    unknownTensor(model, rules) ??
    missing(model) ??
    misshapen(model)
  );
}

function uneven(model: ModelSource, rules: ArchitectureRules): string | null {
  for (const name of rules.uniform) {
    const values = model.metadata.perLayer(`${model.architecture}.${name}`, model.layers) ?? [];
    if (new Set(values).size > 1)
      return `its layers differ in ${name}, which is not proven for '${model.architecture}'`;
  }
  return null;
}

/** Arrays are cut like layers; strings and very long ones have no known meaning per layer. */
function unknownArray(model: ModelSource): string | null {
  for (const entry of model.metadata.entries()) {
    if (entry.type !== 'array' || !entry.key.startsWith(`${model.architecture}.`)) continue;
    if (entry.count === model.layers && entry.bytes === null) {
      return `its metadata '${oneLine(entry.key)}' has a form that is not known to be cut rightly`;
    }
  }
  return null;
}

function unknownTensor(model: ModelSource, rules: ArchitectureRules): string | null {
  const inLayers = new Set(rules.layerTensors);
  const global = new Set([
    'token_embd.weight',
    'output.weight',
    'output_norm.weight',
    ...rules.sharedTensors,
    ...rules.headTensors,
  ]);
  for (const name of model.tensors.keys()) {
    const layer = layerOf(name);
    if (
      layer === null ? !global.has(name) : layer >= model.layers || !inLayers.has(name.slice(name.indexOf('.', 4) + 1))
    ) {
      return `it holds the tensor '${oneLine(name)}', which is not proven for '${model.architecture}'`;
    }
  }
  return null;
}

function missing(model: ModelSource): string | null {
  for (const name of ['token_embd.weight', 'output_norm.weight']) {
    if (!model.tensors.has(name)) return `it holds no '${name}'`;
  }
  const found = new Set([...model.tensors.keys()].map(layerOf));
  for (let layer = 0; layer < model.layers; layer++) if (!found.has(layer)) return `it holds nothing of layer ${layer}`;
  return null;
}

/** The embedding gives the sizes of what a stage adds, so it is held to the metadata. */
function misshapen({ architecture, metadata, tensors }: ModelSource): string | null {
  const width = metadata.count(`${architecture}.embedding_length`);
  for (const name of ['token_embd.weight', 'output.weight']) {
    const dimensions = tensors.get(name)?.dimensions;
    if (dimensions === undefined) continue;
    const [columns = 0] = dimensions;
    if (dimensions.length !== 2 || columns !== width || columns > widestModel) {
      return `its '${name}' has the shape ${dimensions.join(' x ')} where its width is ${width ?? 'not named'}`;
    }
  }
  return null;
}

/** The layer that a tensor belongs to, null for a global one. */
export function layerOf(tensorName: string): number | null {
  const match = /^blk\.(0|[1-9]\d{0,3})\./.exec(tensorName);
  return match === null ? null : Number(match[1]);
}
