import type { TextEmbedding } from '../planner/modelShape.ts';
import type { Metadata } from './metadata.ts';

/** Architectures that llama.cpp gives no KV cache (`create_memory` of llama-model.cpp), and that turn texts into vectors. */
const cachelessEncoders: ReadonlySet<string> = new Set([
  'bert',
  'eurobert',
  'gemma-embedding',
  'jina-bert-v2',
  'jina-bert-v3',
  'modern-bert',
  'neo-bert',
  'nomic-bert',
  'nomic-bert-moe',
]);

/** Others of which it has a cache that nothing is kept in. */
const encoders: ReadonlySet<string> = new Set([...cachelessEncoders, 'llama-embed', 't5encoder']);

/** Looks at later tokens too, but writes text or speaks. */
const othersThatLookAhead: ReadonlySet<string> = new Set(['dream', 'llada', 'llada-moe', 'rnd1', 'wavtokenizer-dec']);

/** `enum llama_pooling_type` of llama.h; 0 names none. */
const poolings: readonly (TextEmbedding['pooling'] | null)[] = [null, 'mean', 'cls', 'last', 'rank'];

/**
 * How a model turns texts into vectors, null for one that writes text. As llama.cpp's converter marks it: it pools what it
 * makes of the tokens, or looks at later ones too. A model that names no pooling is taken to want the mean.
 */
export function textEmbedding(metadata: Metadata, architecture: string): TextEmbedding | null {
  const named = metadata.count(`${architecture}.pooling_type`) ?? 0;
  const pooling = poolings[named];
  const causal = metadata.get(`${architecture}.attention.causal`);
  const looksAhead = encoders.has(architecture) || (causal?.type === 'bool' && causal.value === false);
  if (named === 0 && !looksAhead) return null;
  if (othersThatLookAhead.has(architecture) || pooling === undefined) return { pooling: 'unknown', wholeTexts: true };
  return {
    pooling: pooling ?? 'mean',
    wholeTexts: looksAhead || pooling === 'cls' || pooling === 'rank',
  };
}

/** Whether llama.cpp computes models of the architecture without a KV cache and without a head. */
export function isCachelessEncoder(architecture: string): boolean {
  return cachelessEncoders.has(architecture);
}
