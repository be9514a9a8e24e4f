import type { PoolModel } from '../../../electron/gateway/memberApi.ts';
import type { ModelShape } from '../../../electron/planner/modelShape.ts';
import { knownModel } from './knownModels.ts';

/** Which model the playground plans for. */
export type ModelChoice =
  /** Of the list in knownModels.ts. */
  | { kind: 'known'; id: string }
  /** Layers that are all alike, by three numbers. */
  | { kind: 'own'; layers: number; hiddenSize: number; weightBytes: number }
  /** From the library of this member, by its content id; with what its header says, so that others can open it too. */
  | {
      kind: 'library';
      id: string;
      name: string;
      layers: number;
      hiddenSize: number;
      weightBytes: number;
      /** Null where its header could not be read, and the numbers have to do. */
      shape: ModelShape | null;
      /** What stages of it were measured to do, over what bandwidth makes expect, by the ids of members. */
      speeds?: Readonly<Record<string, number>> | undefined;
    };

type Numbers = Pick<Extract<ModelChoice, { kind: 'own' }>, 'layers' | 'hiddenSize' | 'weightBytes'>;

const vocabularySize = 128_256;
/** Keys and values of 8 heads of 128 at f16, as most models of today have. */
const kvBytesPerToken = 2 * 8 * 128 * 2;

const shapes = new WeakMap<ModelChoice, ModelShape | null>();

/** The shape that the planner wants. Null for a known model that this version does not know. */
export function shapeOf(choice: ModelChoice): ModelShape | null {
  const known = shapes.get(choice);
  if (known !== undefined) return known;
  const shape = newShape(choice);
  shapes.set(choice, shape);
  return shape;
}

function newShape(choice: ModelChoice): ModelShape | null {
  if (choice.kind === 'known') return knownModel(choice.id)?.shape ?? null;
  if (choice.kind === 'library' && choice.shape !== null) return { ...choice.shape, name: choice.name };
  return equalShape(choice, modelName(choice));
}

export function modelName(choice: ModelChoice): string {
  if (choice.kind === 'known') return knownModel(choice.id)?.shape.name ?? choice.id;
  return choice.kind === 'own' ? 'A model of your own' : choice.name;
}

/** Equal layers; embedding and head take what they would at the same bits per weight, a tenth of the file at most. */
function equalShape({ layers, hiddenSize, weightBytes }: Numbers, name: string): ModelShape {
  const tableBytes = Math.floor(Math.min(vocabularySize * hiddenSize * 0.6, weightBytes / 20));
  const layerBytes = Math.max(1, Math.floor((weightBytes - 2 * tableBytes) / layers));
  return {
    name,
    architecture: 'llama',
    hiddenSize,
    vocabularySize,
    contextLength: 131_072,
    layers: Array.from({ length: layers }, () => ({ weightBytes: layerBytes, kvBytesPerToken, slidingWindow: null })),
    embeddingBytes: tableBytes,
    outputBytes: tableBytes,
    sharedBytes: 0,
    cutPoints: Array.from({ length: layers - 1 }, (_, index) => index + 1),
    unsplittableReason: null,
    attentionHeads: Math.max(1, Math.round(hiddenSize / 128)),
  };
}

/**
 * A model of the library with the shape that its header tells. Without one, layers that are all alike, and of a
 * transformer's weights about 12 x hidden size squared in each.
 */
export function libraryChoice(
  { id, name, layers, parameters, bytes }: Pick<PoolModel, 'id' | 'name' | 'layers' | 'parameters' | 'bytes'>,
  shape: ModelShape | null,
  speeds: Readonly<Record<string, number>> = {},
): ModelChoice {
  const hiddenSize =
    shape?.hiddenSize ?? Math.max(64, Math.round(Math.sqrt(parameters / (12 * Math.max(1, layers))) / 64) * 64);
  const choice = { kind: 'library' as const, id, name, layers, hiddenSize, weightBytes: Math.max(1e6, bytes), shape };
  return Object.keys(speeds).length === 0 ? choice : { ...choice, speeds };
}
