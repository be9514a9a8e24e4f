import { z } from 'zod';
import { parseBody } from '../parseBody.ts';
import { refuseUnserved } from './refusedFields.ts';

const MAX_INPUTS = 2048;
const token = z.int().min(0).max(0x7fff_ffff);
const tokens = z.array(token).min(1, 'must not be empty');
const text = z.string().min(1, 'must not be empty');

const embeddingsBody = z.object({
  model: z.string(),
  input: z.union([
    text,
    z.array(text).min(1, 'must not be empty').max(MAX_INPUTS),
    tokens,
    z.array(tokens).min(1, 'must not be empty').max(MAX_INPUTS),
  ]),
  encoding_format: z.enum(['float', 'base64'], 'must be one of float, base64').nullish(),
  dimensions: z.int().min(1).max(1_000_000).nullish(),
});

/** A request for embeddings that is well formed. */
export interface EmbeddingsCall {
  model: string;
  inputs: readonly (string | readonly number[])[];
  base64: boolean;
  /** Null for all. */
  dimensions: number | null;
}

/** @throws GatewayError 400 that names the field. */
export function readEmbeddingsBody(input: unknown): EmbeddingsCall {
  const { model, input: asked, encoding_format: format, dimensions } = parseBody(embeddingsBody, input);
  refuseUnserved('embeddings', input);
  return { model, inputs: inputsOf(asked), base64: format === 'base64', dimensions: dimensions ?? null };
}

function inputsOf(input: string | string[] | number[] | number[][]): (string | number[])[] {
  if (typeof input === 'string') return [input];
  const one = input.filter((each) => typeof each === 'number');
  return one.length > 0 ? [one] : input.filter((each) => typeof each !== 'number');
}
