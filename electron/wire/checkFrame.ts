import { compareEpochs } from './epoch.ts';
import type { Epoch, StepFrame } from './generated/roomful/v1/ring.ts';

export type FrameVerdict = 'Accepted' | 'WrongPipeline' | 'StaleEpoch' | 'UnknownEpoch' | 'StaleStep';

/** Whether a process that serves `pipeline` at `epoch` and has seen `lastStep` takes this frame. */
export function checkFrame(
  expected: { pipeline: string; epoch: Epoch; lastStep: number },
  frame: StepFrame,
): FrameVerdict {
  if (frame.pipeline !== expected.pipeline) return 'WrongPipeline';
  if (frame.epoch === undefined) return 'StaleEpoch';
  const order = compareEpochs(frame.epoch, expected.epoch);
  if (order !== 0) return order < 0 ? 'StaleEpoch' : 'UnknownEpoch';
  return frame.step > expected.lastStep ? 'Accepted' : 'StaleStep';
}
