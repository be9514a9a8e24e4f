import type { RangeCosts } from '../costs/rangeCosts.ts';
import type { Stage } from '../pack/packing.ts';

/**
 * How a model runs. `Gpu`: whole, in the memory of one GPU or in unified memory. `CpuOnly`: whole, in plain RAM.
 * `CpuOffload`: on one member, the layers that its GPU cannot hold in plain RAM. `MoeOffload`: the same where only experts
 * of a mixture lie in RAM, of which a token reads few. `Pipeline`: layers in a row on several members.
 * `TensorParallel`: every layer split over several, by vLLM.
 */
export type RunModeKind = 'Gpu' | 'CpuOnly' | 'CpuOffload' | 'MoeOffload' | 'Pipeline' | 'TensorParallel';

export interface RunMode {
  kind: RunModeKind;
  /** For a badge: `TP`. */
  tag: string;
  /** For people: `Cluster: tensor-parallel across 4 nodes via vLLM (TP=2)`. */
  line: string;
}

/** What runs: stages of one pipeline on llama.cpp, or vLLM over whole nodes. */
export type Serving =
  | { engine: 'llama.cpp'; stages: readonly Stage[]; costs: RangeCosts; isMixture: boolean }
  | { engine: 'vllm'; nodes: number; tensorParallel: number };

/** Names the way in which a model runs. */
export function runMode(serving: Serving): RunMode {
  if (serving.engine === 'vllm') return tensorParallel(serving.nodes, serving.tensorParallel);
  const { stages } = serving;
  const [first, ...others] = stages;
  if (first === undefined) throw new RangeError('a run mode needs at least one stage');
  return others.length > 0 ? pipeline(stages) : single(first, serving.costs, serving.isMixture);
}

function tensorParallel(nodes: number, size: number): RunMode {
  const across = nodes === 1 ? 'on 1 node' : `across ${nodes} nodes`;
  const place = nodes === 1 ? 'Local' : 'Cluster';
  return { kind: 'TensorParallel', tag: 'TP', line: `${place}: tensor-parallel ${across} via vLLM (TP=${size})` };
}

function pipeline(stages: readonly Stage[]): RunMode {
  const layers = stages.map(({ start, end }) => end - start).join(' + ');
  const hops = stages.length - 1;
  return {
    kind: 'Pipeline',
    tag: 'PP',
    line: `Cluster: pipeline-parallel across ${stages.length} nodes via llama.cpp (${layers} layers, ${hops} ${hops === 1 ? 'hop' : 'hops'})`,
  };
}

function single({ candidate, start, end }: Stage, costs: RangeCosts, isMixture: boolean): RunMode {
  const { backend } = candidate.member;
  if (candidate.deviceClass === 'cpu') {
    return { kind: 'CpuOnly', tag: 'CPU', line: 'Local: whole model in plain RAM via llama.cpp (no GPU)' };
  }
  const spilled = costs.bytes(start, end) - candidate.deviceBytes;
  if (spilled <= 0) {
    const where = candidate.deviceClass === 'unified' ? 'in unified memory' : 'on one GPU';
    return { kind: 'Gpu', tag: 'GPU', line: `Local: whole model ${where} via llama.cpp (${backend})` };
  }
  if (isMixture && spilled <= costs.expertBytes(start, end)) {
    return {
      kind: 'MoeOffload',
      tag: 'MoE',
      line: `Local: experts partly in plain RAM, the rest on the GPU via llama.cpp (${backend} + CPU)`,
    };
  }
  const share = Math.ceil((spilled / costs.bytes(start, end)) * 100);
  return {
    kind: 'CpuOffload',
    tag: 'GPU+CPU',
    line: `Local: ${share} % of the model in plain RAM, the rest on the GPU via llama.cpp (${backend} + CPU)`,
  };
}
