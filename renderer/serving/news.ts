import type { MemberState, PoolState, ServingPipeline } from '../../electron/gateway/memberApi.ts';

/** Something that happened, for people. */
export interface News {
  /** Milliseconds since 1970. */
  at: number;
  text: string;
  tone: 'good' | 'warn' | 'problem' | 'quiet';
}

type Line = Omit<News, 'at'>;

/** What happened to pipelines between two states. */
export function pipelineNews(before: MemberState, after: MemberState): Line[] {
  const known = new Map(before.pipelines.map((pipeline) => [pipeline.id, pipeline]));
  const now = new Set(after.pipelines.map(({ id }) => id));
  const changed = after.pipelines.flatMap((pipeline) => {
    const old = known.get(pipeline.id);
    return old?.state === pipeline.state ? [] : [stateLine(pipeline)];
  });
  const gone = before.pipelines
    .filter(({ id, state }) => !now.has(id) && state !== 'stopped' && state !== 'failed')
    .map(({ modelId }): Line => ({ text: `${modelId} does not serve any more.`, tone: 'quiet' }));
  return [...changed, ...gone];
}

/** While it is being planned a model may be called by its content id, which says nothing to people. */
const contentId = /^[0-9a-f]{32,}$/;

function stateLine({ modelId: called, state, reason, placement }: ServingPipeline): Line {
  const modelId = contentId.test(called) ? 'A model' : called;
  const members = placement.map(({ member }) => member).join(', ');
  const one = placement.length === 1;
  switch (state) {
    case 'planning':
      return { text: `${modelId} is being planned.`, tone: 'quiet' };
    case 'fetching':
      return { text: `${members} ${one ? 'fetches its part' : 'fetch their parts'} of ${modelId}.`, tone: 'quiet' };
    case 'loading':
      return { text: `${members} ${one ? 'loads' : 'load'} ${modelId}.`, tone: 'quiet' };
    case 'linking':
      return { text: `The members of ${modelId} connect to each other.`, tone: 'quiet' };
    case 'warming':
      return { text: `A first token travels through ${modelId}.`, tone: 'quiet' };
    case 'serving':
      return { text: `${modelId} serves on ${members}.`, tone: 'good' };
    case 'draining':
      return { text: `${modelId} finishes what runs, then ends.`, tone: 'warn' };
    case 'stopped':
      return { text: `${modelId} has been stopped.`, tone: 'quiet' };
    case 'failed':
      return { text: `${modelId} has ended: ${reason ?? 'the reason is not known.'}`, tone: 'problem' };
  }
}

/** What happened to members between two states of the same pool. */
export function poolNews(before: PoolState, after: PoolState): Line[] {
  if (before.status.pool?.id !== after.status.pool?.id) {
    const place = after.status.pool;
    if (place === null && after.removed !== null) {
      return [{ text: `This machine was removed from ${after.removed.poolName}.`, tone: 'problem' }];
    }
    return [
      { text: place === null ? 'This machine is in no pool.' : `This machine is in ${place.name}.`, tone: 'quiet' },
    ];
  }
  const known = new Map(before.members.map((member) => [member.id, member]));
  const now = new Set(after.members.map(({ id }) => id));
  const lines = after.members.flatMap(({ id, name, state, paused }): Line[] => {
    const old = known.get(id);
    if (old === undefined) return [{ text: `${name} has joined.`, tone: 'good' }];
    // Who has joined is named before it is heard of for the first time.
    if (old.state === 'lost' && old.build === null) return [];
    if (old.state !== state) return memberLine(name, old.state, state);
    if (old.paused.length === 0 && paused.length > 0) return [{ text: `${name} pauses its sharing.`, tone: 'warn' }];
    if (old.paused.length > 0 && paused.length === 0) return [{ text: `${name} shares again.`, tone: 'good' }];
    return [];
  });
  const gone = before.members
    .filter(({ id }) => !now.has(id))
    .map(({ name }): Line => ({ text: `${name} is in the pool no more.`, tone: 'quiet' }));
  const leader = after.members.find(({ leads }) => leads);
  const led = before.members.find(({ leads }) => leads);
  const election: Line[] =
    leader !== undefined && led !== undefined && leader.id !== led.id
      ? [{ text: `${leader.name} leads the pool now.`, tone: 'quiet' }]
      : [];
  return [...lines, ...gone, ...election];
}

type MemberLife = PoolState['members'][number]['state'];

function memberLine(name: string, before: MemberLife, state: MemberLife): Line[] {
  switch (state) {
    case 'alive':
      return before === 'suspect' ? [] : [{ text: `${name} is back.`, tone: 'good' }];
    case 'suspect':
      return [];
    case 'lost':
      return [{ text: `${name} is lost: it does not answer any more.`, tone: 'problem' }];
    case 'left':
      return [{ text: `${name} has left.`, tone: 'quiet' }];
  }
}
