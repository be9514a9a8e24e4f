import type { ModelSummary } from './modelSummary.ts';

/**
 * What clients call a model: its name and quantisation in lower case with hyphens, such as `qwen3-8b-q4_k_m`; never a path,
 * and the same on every member. See `withoutQuantisation`.
 */
export function modelId({ name, quantisation }: Pick<ModelSummary, 'name' | 'quantisation'>): string {
  const id = slug(name) || 'model';
  const suffix = `-${slug(quantisation)}`;
  return suffix === '-' || id.endsWith(suffix) ? id : id + suffix;
}

/** The id of a model without its quantisation, by which it may be called too. */
export function withoutQuantisation(id: string): string {
  return id.replace(QUANTISATION, '') || id;
}

/** As `fileTypes` in modelSummary.ts and the names of tensor types spell them. */
const QUANTISATION = /-(ud-)?(i?q\d\w*|t?q\d\w*|[bt]?f\d+|mxfp4\w*|nvfp4\w*)$/;

function slug(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}._]+/gu, '-')
    .replace(/^[-.]+|[-.]+$/g, '');
}
