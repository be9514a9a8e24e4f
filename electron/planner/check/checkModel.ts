import { InvalidInput } from '../invalidInput.ts';
import type { LayerShape, ModelShape } from '../modelShape.ts';
import {
  checkList,
  checkNumber,
  checkObject,
  checkOptional,
  checkText,
  mostBytes,
  mostCount,
  positiveCount,
} from './checks.ts';

const mostLayers = 4096;

/** Refuses a model without layers, sizes or valid cut points; throws `InvalidInput`. */
export function checkModel(model: ModelShape): void {
  checkObject(model, 'model');
  checkText(model.name, 'model.name');
  checkText(model.architecture, 'model.architecture');
  if (model.unsplittableReason !== null) checkText(model.unsplittableReason, 'model.unsplittableReason');
  checkNumber(model.hiddenSize, 'model.hiddenSize', positiveCount);
  checkNumber(model.vocabularySize, 'model.vocabularySize', positiveCount);
  checkNumber(model.contextLength, 'model.contextLength', { most: mostCount, whole: true });
  checkNumber(model.embeddingBytes, 'model.embeddingBytes');
  checkNumber(model.outputBytes, 'model.outputBytes');
  checkNumber(model.sharedBytes, 'model.sharedBytes');
  checkOptional(model.tiedBytes, 'model.tiedBytes', { most: Math.min(model.embeddingBytes, model.outputBytes) });
  checkOptional(model.attentionHeads, 'model.attentionHeads', positiveCount);
  checkOptional(model.feedForwardSize, 'model.feedForwardSize', positiveCount);
  checkOptional(model.parameters, 'model.parameters', { least: 1 });
  checkList(model.layers, 'model.layers');
  const count = model.layers.length;
  if (count === 0) throw new InvalidInput('model.layers', 'must not be empty');
  if (count > mostLayers) throw new InvalidInput('model.layers', `must be at most ${mostLayers} layers, not ${count}`);
  let total = model.embeddingBytes + model.outputBytes + model.sharedBytes;
  for (const [index, layer] of model.layers.entries()) {
    checkLayer(layer, `model.layers[${index}]`);
    total += layer.weightBytes;
  }
  if (total > mostBytes) throw new InvalidInput('model.layers', 'must be fewer bytes in sum than 2^53');
  checkExperts(model);
  checkCuts(model);
}

function checkLayer(layer: LayerShape, field: string): void {
  checkObject(layer, field);
  checkNumber(layer.weightBytes, `${field}.weightBytes`, { least: 1 });
  checkNumber(layer.kvBytesPerToken, `${field}.kvBytesPerToken`, { most: mostCount });
  if (layer.slidingWindow !== null) checkNumber(layer.slidingWindow, `${field}.slidingWindow`, positiveCount);
  checkOptional(layer.expertBytes, `${field}.expertBytes`, { most: layer.weightBytes });
  checkOptional(layer.stateBytesPerSlot, `${field}.stateBytesPerSlot`, { most: mostCount });
}

function checkExperts({ experts }: ModelShape): void {
  if (experts === undefined || experts === null) return;
  checkNumber(experts.count, 'model.experts.count', positiveCount);
  checkNumber(experts.usedPerToken, 'model.experts.usedPerToken', { ...positiveCount, most: experts.count });
}

function checkCuts(model: ModelShape): void {
  checkList(model.cutPoints, 'model.cutPoints');
  let before = 0;
  for (const [index, cut] of model.cutPoints.entries()) {
    const field = `model.cutPoints[${index}]`;
    checkNumber(cut, field, { least: before + 1, most: model.layers.length - 1, whole: true });
    before = cut;
  }
}
