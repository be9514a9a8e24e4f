import type { CompactPlan } from '../planner/compactPlan.ts';
import { formatBytes } from '../planner/formatBytes.ts';
import type { Member } from '../planner/member.ts';
import type { Plan } from '../planner/plan.ts';
import { textTable } from './textTable.ts';

/** A plan for a terminal: how it runs, who holds what, and why. */
export function planTable(plan: Plan, members: readonly Member[]): string {
  const nameOf = (address: string) => members.find((member) => member.address === address)?.name ?? address;
  const sharedBy = (address: string) => members.find((member) => member.address === address)?.memoryBytes ?? 0;
  const tables = plan.pipelines.map(({ stages, prediction, runMode }, index) => {
    const rows = stages.map(({ address, startLayer, endLayer, bytes }, position) => [
      nameOf(address),
      `${startLayer}-${endLayer - 1}`,
      formatBytes(bytes.weights + bytes.embedding + bytes.output),
      formatBytes(bytes.kv),
      formatBytes(bytes.compute),
      formatBytes(bytes.total),
      formatBytes(sharedBy(address)),
      `${(prediction.stages[position]?.ms ?? 0).toFixed(1)} ms`,
    ]);
    const heading = plan.pipelines.length === 1 ? runMode.line : `${index + 1}. ${runMode.line}`;
    return `${heading}\n\n${textTable(['member', 'layers', 'weights', 'KV', 'buffers', 'total', 'shares', 'a token'], rows)}`;
  });
  return sections(plan, tables);
}

/** The same for the compact form, which knows layers alone. */
export function compactTable(plan: CompactPlan): string {
  const tables = plan.pipelines.map(({ stages }) =>
    textTable(
      ['member', 'layers'],
      stages.map(({ address, start_layer: start, end_layer: end }) => [address, `${start}-${end}`]),
    ),
  );
  return sections(plan, tables);
}

function sections({ fit, hops, explain }: Pick<Plan, 'fit' | 'hops' | 'explain'>, tables: readonly string[]): string {
  const heading = tables.length === 0 ? fit : `${fit}, ${hops} ${hops === 1 ? 'hop' : 'hops'}`;
  return `${[heading, ...tables, explain.map((line) => `- ${line}`).join('\n')].join('\n\n')}\n`;
}
