import type { ModelShape } from '../../planner/modelShape.ts';
import type { KvType } from '../../planner/planOptions.ts';

/** How much room a model is served with. */
export interface ServingSizes {
  /** Tokens over all slots. */
  contextLength: number;
  /** Requests that run at once. */
  slots: number;
  /** Most tokens of a step, so of a prefill chunk. */
  batch: number;
  kvType: KvType;
}

const DEFAULT_SLOTS = 4;
/** Tokens of one request, where nobody says otherwise and the model allows it. */
const DEFAULT_CONTEXT = 4096;
const MOST_CHUNK_TOKENS = 512;
/** Of a chunk's activations at f32. */
const MOST_CHUNK_BYTES = 8 * 1024 * 1024;

/** The sizes that a request asks for, with every default filled in. `contextLength` is that of one request. */
export function servingSizes(
  shape: Pick<ModelShape, 'contextLength' | 'hiddenSize'>,
  request: {
    contextLength?: number | undefined;
    slots?: number | undefined;
    kvType?: KvType | undefined;
    chunk?: number | undefined;
  },
): ServingSizes {
  const slots = request.slots ?? DEFAULT_SLOTS;
  const sequence = request.contextLength ?? Math.min(shape.contextLength || DEFAULT_CONTEXT, DEFAULT_CONTEXT);
  const fits = Math.floor(MOST_CHUNK_BYTES / (shape.hiddenSize * 4));
  const batch = Math.max(1, Math.min(request.chunk ?? Math.min(MOST_CHUNK_TOKENS, fits), sequence));
  return { contextLength: sequence * slots, slots, batch, kvType: request.kvType ?? 'f16' };
}
