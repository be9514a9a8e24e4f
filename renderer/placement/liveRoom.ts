import type { PoolMemberDetail, ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { nodeWidth } from '../planner/arrange.ts';
import { PALETTE_SIZE } from '../planner/graph/palette.ts';
import { servedBytes, stateOf } from '../pool/memberFacts.ts';

/** A member of the room of a pipeline, and its part in it. */
export interface LiveMember {
  id: string;
  name: string;
  /** Of its card, in pixels: more for more memory. */
  width: number;
  /** That it shares, and of that what other models take. */
  memoryBytes: number;
  elsewhereBytes: number;
  /** Whether it takes the requests. */
  drives: boolean;
  /** What is wrong with it, or why it holds no layer; null where neither is the case. */
  note: string | null;
  stage: LiveStage | null;
}

export interface LiveStage {
  startLayer: number;
  /** Exclusive. */
  endLayer: number;
  bytes: number;
  weightBytes: number;
  kvBytes: number;
  color: number;
  /** Of one token; null before it serves. */
  pace: { predictedMs: number; measuredMs: number | null; queueMs: number } | null;
}

/** A way of one token from member to member. */
export interface LiveHop {
  from: string;
  to: string;
  carries: 'activations' | 'tokens';
  color: number;
  /** Null before it serves. */
  pace: { predictedMs: number; measuredMs: number | null } | null;
  /** That went this way; 0 where that is not counted. */
  bytes: number;
}

export interface LiveRoom {
  /** Those that hold layers first, in the order in which activations travel. */
  members: LiveMember[];
  hops: LiveHop[];
}

/**
 * The room of a pool as one pipeline uses it: every member with its part, and the ways of one token through it. Of one that
 * has failed only those that had a part.
 */
export function liveRoom(
  pipeline: ServingPipeline,
  pool: readonly PoolMemberDetail[],
  pipelines: readonly ServingPipeline[],
): LiveRoom {
  const { placement, driver, figures } = pipeline;
  const known = new Map(pool.map((member) => [member.id, member]));
  const memberOf = (id: string, name: string, bytes: number, stage: LiveStage | null): LiveMember => {
    const member = known.get(id);
    const memoryBytes = member?.shareBytes ?? bytes;
    const elsewhere = servedBytes(id, pipelines, pipeline.id);
    return {
      id,
      name: member?.name ?? name,
      width: nodeWidth(memoryBytes),
      memoryBytes,
      elsewhereBytes: elsewhere.weights + elsewhere.kv + elsewhere.buffers,
      drives: id === driver.id,
      note: pool.length === 0 ? null : noteOf(member, stage !== null, id === driver.id),
      stage,
    };
  };
  const holding = placement.map(({ id, member, startLayer, endLayer, bytes, weightBytes, kvBytes }, index) => {
    const color = index % PALETTE_SIZE;
    const pace = figures?.stages[index] ?? null;
    return memberOf(id, member, bytes, { startLayer, endLayer, bytes, weightBytes, kvBytes, color, pace });
  });
  const holds = new Set(placement.map(({ id }) => id));
  const isOver = pipeline.state === 'failed';
  const idle = pool
    .filter(({ id, state }) => !holds.has(id) && (id === driver.id || (state !== 'left' && !isOver)))
    .sort((a, b) => Number(b.id === driver.id) - Number(a.id === driver.id))
    .map(({ id, name }) => memberOf(id, name, 0, null));
  if (!holds.has(driver.id) && !known.has(driver.id)) idle.unshift(memberOf(driver.id, driver.name, 0, null));
  return { members: [...holding, ...idle], hops: hopsOf(pipeline) };
}

function noteOf(member: PoolMemberDetail | undefined, holds: boolean, drives: boolean): string | null {
  if (member === undefined) return 'not in the pool';
  const { text, tone } = stateOf(member);
  if (tone !== 'good' && !(holds && text === 'paused')) return text;
  if (holds) return null;
  return drives ? 'holds no layer' : 'not needed';
}

function hopsOf({ placement, driver, figures }: ServingPipeline): LiveHop[] {
  const ids = placement.map(({ id }) => id);
  const [first, last] = [ids[0], ids.at(-1)];
  if (first === undefined || last === undefined) return [];
  const tokens = (from: string, to: string, pace: LiveHop['pace'] | undefined): LiveHop[] =>
    from === to ? [] : [{ from, to, carries: 'tokens', color: 0, pace: pace ?? null, bytes: 0 }];
  return [
    ...tokens(driver.id, first, figures?.entry),
    ...ids.slice(1).map((to, index): LiveHop => {
      const figure = figures?.hops[index];
      const color = index % PALETTE_SIZE;
      return {
        from: ids[index] ?? first,
        to,
        carries: 'activations',
        color,
        pace: figure ?? null,
        bytes: figure?.bytes ?? 0,
      };
    }),
    ...tokens(last, driver.id, figures?.exit),
  ];
}
