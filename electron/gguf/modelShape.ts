import { checkModel } from '../planner/check/checkModel.ts';
import { InvalidInput } from '../planner/invalidInput.ts';
import type { LayerShape, ModelShape } from '../planner/modelShape.ts';
import { type ArchitectureRules, architectureRules } from './architectures.ts';
import { attentionWindows } from './attentionWindows.ts';
import { NotAModelError } from './ggufError.ts';
import { kvBytesPerToken, stateBytesPerSlot } from './layerMemory.ts';
import type { ModelSource } from './openModel.ts';
import { layerOf, splittability } from './splittability.ts';
import { isCachelessEncoder, textEmbedding } from './textEmbedding.ts';

/**
 * What the planner needs to know of a model, from its header alone. Bytes are those of the tensors as the stage files
 * hold them; beside them a stage file has a header, padding, and on all stages but the last two vectors of n_embd floats.
 * Throws `NotAModelError` for a header that is well formed but describes nothing that could be served.
 */
export function modelShape(model: ModelSource, rules = architectureRules(model.architecture)): ModelShape {
  const shape = shapeOf(model, rules);
  try {
    checkModel(shape);
    return shape;
  } catch (cause) {
    if (!(cause instanceof InvalidInput)) throw cause;
    throw new NotAModelError(model.files[0]?.path ?? '', `cannot be served: ${inWords(cause)}.`, cause);
  }
}

/** What the planner refuses, in words of the model instead of the planner's fields. */
function inWords({ field, message }: InvalidInput): string {
  const problem = message.slice(field.length);
  const [, layer, part = field.replace(/^model\.?/, '')] = /^model\.layers\[(\d+)\]\.(\w+)$/.exec(field) ?? [];
  return `${fieldNames.get(part) ?? part}${layer === undefined ? '' : ` of layer ${layer}`}${problem}`;
}

const fieldNames: ReadonlyMap<string, string> = new Map([
  ['hiddenSize', 'the width of its embedding'],
  ['vocabularySize', 'its vocabulary'],
  ['contextLength', 'its context length'],
  ['attentionHeads', 'the number of its attention heads'],
  ['feedForwardSize', 'the width of its feed-forward part'],
  ['parameters', 'the number of its weights'],
  ['layers', 'the size of its layers'],
  ['experts.count', 'the number of its experts'],
  ['weightBytes', 'the size'],
  ['kvBytesPerToken', 'the KV cache per token'],
  ['slidingWindow', 'the attention window'],
  ['expertBytes', 'the size of the experts'],
  ['stateBytesPerSlot', 'the recurrent state'],
]);

function shapeOf(model: ModelSource, rules: ArchitectureRules | undefined): ModelShape {
  const { architecture, metadata, summary, layers } = model;
  const weights = new Array<number>(layers).fill(0);
  const experts = new Array<number>(layers).fill(0);
  const bytes = { embedding: 0, output: 0, shared: 0 };
  for (const { name, byteLength } of model.tensors.values()) {
    const layer = layerOf(name);
    if (layer === null || layer >= layers) {
      bytes[globalPlace(name)] += byteLength;
      continue;
    }
    weights[layer] = (weights[layer] ?? 0) + byteLength;
    if (/_exps\./.test(name)) experts[layer] = (experts[layer] ?? 0) + byteLength;
  }
  const embedding = model.tensors.get('token_embd.weight');
  const hasHead = !isCachelessEncoder(architecture);
  const lastHoldsIt = hasHead && (!model.tensors.has('output.weight') || rules?.demandsOutput === true);
  const tiedBytes = lastHoldsIt ? (embedding?.byteLength ?? 0) : 0;
  const kv = kvBytesPerToken(model);
  const states = stateBytesPerSlot(model);
  const windows = attentionWindows(architecture, layers, metadata);
  return {
    name: summary.name,
    architecture,
    hiddenSize: embedding?.dimensions[0] ?? metadata.count(`${architecture}.embedding_length`) ?? 0,
    vocabularySize: embedding?.dimensions[1] ?? metadata.count(`${architecture}.vocab_size`) ?? 0,
    contextLength: summary.contextLength ?? 0,
    layers: weights.map(
      (weightBytes, layer): LayerShape => ({
        weightBytes,
        kvBytesPerToken: kv[layer] ?? 0,
        slidingWindow: windows[layer] ?? null,
        expertBytes: experts[layer] ?? 0,
        stateBytesPerSlot: states[layer] ?? 0,
      }),
    ),
    embeddingBytes: bytes.embedding,
    outputBytes: bytes.output + tiedBytes,
    sharedBytes: bytes.shared,
    tiedBytes,
    ...widths(model),
    parameters: summary.parameters,
    textEmbedding: textEmbedding(metadata, architecture),
    experts: expertsOf(model),
    ...splittability(model, rules),
  };
}

/** The widest attention and feed-forward part of a layer, which decide its compute buffers. */
function widths({
  architecture,
  layers,
  metadata,
}: ModelSource): Pick<ModelShape, 'attentionHeads' | 'feedForwardSize'> {
  const widest = (key: string) => Math.max(0, ...(metadata.perLayer(`${architecture}.${key}`, layers) ?? []));
  const attentionHeads = widest('attention.head_count');
  const experts = widest('expert_feed_forward_length') * widest('expert_used_count');
  const feedForwardSize = Math.max(widest('feed_forward_length'), experts);
  return { ...(attentionHeads > 0 ? { attentionHeads } : {}), ...(feedForwardSize > 0 ? { feedForwardSize } : {}) };
}

function expertsOf({ architecture, layers, metadata }: ModelSource): ModelShape['experts'] {
  const count = metadata.count(`${architecture}.expert_count`) ?? 0;
  const used = Math.max(0, ...(metadata.perLayer(`${architecture}.expert_used_count`, layers) ?? []));
  return count > 0 && used > 0 && used <= count ? { count, usedPerToken: used } : null;
}

function globalPlace(name: string): 'embedding' | 'output' | 'shared' {
  if (/^(token_embd|token_types|position_embd|per_layer_)/.test(name)) return 'embedding';
  return /^(output|cls)/.test(name) ? 'output' : 'shared';
}
