import { ActivationFormat, type StepFrame } from '../../electron/wire/generated/roomful/v1/ring.ts';

/** A frame with nothing in it but what a test cares about. */
export function stepFrame(fields: Partial<StepFrame> = {}): StepFrame {
  return {
    pipeline: 'p',
    epoch: { counter: 1, coordinator: 'c' },
    step: 1,
    runs: [],
    format: ActivationFormat.ACTIVATION_FORMAT_NONE,
    activations: new Uint8Array(0),
    exact: false,
    closedSlots: [],
    timings: [],
    committed: [],
    failure: undefined,
    ...fields,
  };
}
