import type { Edge } from '@xyflow/react';
import { answerTo } from '../scenario/answer.ts';
import type { Question } from '../scenario/scenario.ts';
import { PALETTE_SIZE } from './palette.ts';

export interface HopData extends Record<string, unknown> {
  /** Activations between stages, or token ids from and to the coordinator. */
  carries: 'activations' | 'tokens';
  /** Milliseconds for one token. */
  ms: number;
  /** Of the stage that sends. */
  color: number;
}

export type HopEdge = Edge<HopData, 'hop'>;

/** The ways of one token through every pipeline: in, from stage to stage, and out. */
export function hopEdges(question: Question): HopEdge[] {
  const { plan } = answerTo(question);
  if (plan === null) return [];
  return plan.pipelines.flatMap(({ stages, prediction }, pipeline) => {
    const edge = (from: string, to: string, data: HopData): HopEdge => ({
      id: `${pipeline} ${data.carries} ${from} ${to}`,
      type: 'hop',
      source: from,
      target: to,
      data,
      selectable: false,
      focusable: false,
    });
    const { coordinator } = plan;
    const first = stages[0]?.address;
    const last = stages.at(-1)?.address;
    const tokens = (from: string, to: string, ms: number): HopEdge[] =>
      from === to ? [] : [edge(from, to, { carries: 'tokens', ms, color: 0 })];
    return [
      ...(coordinator === null || first === undefined ? [] : tokens(coordinator, first, prediction.entryMs)),
      ...prediction.hops.map(({ from, to, ms }, index) =>
        edge(from, to, { carries: 'activations', ms, color: index % PALETTE_SIZE }),
      ),
      ...(coordinator === null || last === undefined ? [] : tokens(last, coordinator, prediction.exitMs)),
    ];
  });
}

export function sameEdge(a: HopEdge, b: HopEdge): boolean {
  return a.data?.ms === b.data?.ms && a.data?.color === b.data?.color;
}
