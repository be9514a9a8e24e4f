import type { RunStageRequest } from '../../electron/wire/generated/roomful/v1/member.ts';

/** An order that every check of its fields lets through, for servers that run no stage. */
export function stageOrder(changes: Partial<RunStageRequest> = {}): RunStageRequest {
  return {
    pipeline: 'p',
    epoch: { counter: 1, coordinator: 'c' },
    position: 0,
    stages: 1,
    model: 'f'.repeat(64),
    holders: [{ member: 'm', addresses: ['127.0.0.1:1'] }],
    startLayer: 0,
    endLayer: 1,
    contextLength: 512,
    slots: 1,
    batch: 64,
    threads: 1,
    plannedBytes: 0,
    kvType: 'f16',
    followerMember: 'm',
    ...changes,
  };
}
