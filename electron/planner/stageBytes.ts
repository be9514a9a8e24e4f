import { attentionBytes, coordinatorBytes, offerFor } from './admit/candidate.ts';
import { checkModel } from './check/checkModel.ts';
import { checkCostOptions } from './check/checkOptions.ts';
import { checkNumber } from './check/checks.ts';
import { type RangeBytes, type RangeCosts, rangeCosts } from './costs/rangeCosts.ts';
import { settingsOf } from './costs/settings.ts';
import { InvalidInput } from './invalidInput.ts';
import type { DeviceClass } from './member.ts';
import type { ModelShape } from './modelShape.ts';
import type { CostOptions } from './planOptions.ts';

/** Bytes of a stage on its member, by kind and in sum. */
export interface StageBytes extends RangeBytes {
  total: number;
}

/** Layers [start, end). */
export interface LayerRange {
  start: number;
  end: number;
}

/**
 * The bytes that a member needs for a range of layers: the same sum that `plan` holds against its memory. A CPU takes more
 * than a device, for it computes without flash attention. Throws `InvalidInput` for a range outside the model.
 */
export function stageBytes(
  model: ModelShape,
  range: LayerRange,
  options: CostOptions = {},
  deviceClass: DeviceClass = 'gpu',
): StageBytes {
  checkModel(model);
  checkCostOptions(options);
  checkNumber(range.start, 'range.start', { whole: true });
  checkNumber(range.end, 'range.end', { whole: true });
  if (range.start >= range.end || range.end > model.layers.length) {
    throw new InvalidInput(
      'range',
      `must lie within the ${model.layers.length} layers, not ${range.start} to ${range.end}`,
    );
  }
  return stageBytesOf(rangeCosts(model, settingsOf(model, options)), range.start, range.end, deviceClass);
}

/**
 * The memory that a member must share so that `plan` lets it hold a range of layers: the stage, the headroom, and on the
 * coordinator the costs of leading.
 */
export function memoryToShare(
  model: ModelShape,
  range: LayerRange,
  options: CostOptions = {},
  role: { leads: boolean; deviceClass: DeviceClass } = { leads: false, deviceClass: 'gpu' },
): number {
  const { total } = stageBytes(model, range, options, role.deviceClass);
  const settings = settingsOf(model, options);
  const leading = role.leads ? coordinatorBytes(role.deviceClass, settings) : 0;
  return offerFor(total + leading, null, settings.headroom);
}

/** The same for input that has been checked. */
export function stageBytesOf(costs: RangeCosts, start: number, end: number, deviceClass: DeviceClass): StageBytes {
  const bytes = costs.bytesByKind(start, end);
  const compute = bytes.compute + attentionBytes(deviceClass, costs);
  return { ...bytes, compute, total: costs.bytes(start, end) + attentionBytes(deviceClass, costs) };
}
