import type { LibraryModel } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';

type Facts = Pick<LibraryModel, 'parameters' | 'quantisation' | 'bytes' | 'layers' | 'embedsOnly'>;

/** How large a model is, in a line: `70.6 B weights · Q4_K_M · 42.5 GB · 80 layers`. */
export function modelFacts({ parameters, quantisation, bytes, layers, embedsOnly }: Facts): string {
  return [
    formatCount(parameters),
    quantisation,
    formatBytes(bytes),
    `${layers} layers`,
    ...(embedsOnly ? ['for embeddings'] : []),
  ].join(' · ');
}

function formatCount(parameters: number): string {
  if (parameters >= 1e9) return `${(parameters / 1e9).toFixed(1)} B weights`;
  return `${(parameters / 1e6).toFixed(1)} M weights`;
}
