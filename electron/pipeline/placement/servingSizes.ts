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
/** Texts that share a step at most, where each is computed whole: they cost no memory of their own. */
const DEFAULT_TEXTS = 16;
/** Tokens of a text, of a model that does not say what it was trained for. */
const DEFAULT_TEXT = 512;
const SHORTEST_TEXT = 256;
const MOST_CHUNK_TOKENS = 512;
/** Of a chunk's activations at f32. */
const MOST_CHUNK_BYTES = 8 * 1024 * 1024;

/** Of the scores and outputs of one step of whole texts, where nobody says how long they may be. */
const MOST_TEXT_BYTES = 1.5 * 1024 ** 3;

/**
 * The sizes that a request asks for, with every default filled in. `contextLength` is that of one request. A model that
 * computes texts whole takes them up to the length that it was trained for, or half, a quarter of it and so on, as long as a
 * step does not take more memory than a large text is worth.
 */
export function servingSizes(
  shape: Pick<ModelShape, 'contextLength' | 'hiddenSize' | 'vocabularySize' | 'attentionHeads' | 'textEmbedding'>,
  request: {
    contextLength?: number | undefined;
    slots?: number | undefined;
    kvType?: KvType | undefined;
    chunk?: number | undefined;
  },
): ServingSizes {
  const wholeTexts = shape.textEmbedding?.wholeTexts ?? false;
  const slots = request.slots ?? (wholeTexts ? DEFAULT_TEXTS : DEFAULT_SLOTS);
  const kvType = request.kvType ?? 'f16';
  if (wholeTexts) {
    const longest = request.contextLength ?? longestText(shape);
    return { contextLength: longest * slots, slots, batch: longest, kvType };
  }
  const sequence = request.contextLength ?? Math.min(shape.contextLength || DEFAULT_CONTEXT, DEFAULT_CONTEXT);
  const fits = Math.floor(MOST_CHUNK_BYTES / (shape.hiddenSize * 4));
  const batch = Math.max(1, Math.min(request.chunk ?? Math.min(MOST_CHUNK_TOKENS, fits), sequence));
  return { contextLength: sequence * slots, slots, batch, kvType };
}

function longestText({
  contextLength,
  hiddenSize,
  vocabularySize,
  attentionHeads = 0,
}: Parameters<typeof servingSizes>[0]): number {
  const bytes = (tokens: number): number => 4 * tokens * (hiddenSize + vocabularySize + tokens * (attentionHeads + 1));
  let longest = contextLength || DEFAULT_TEXT;
  while (longest > SHORTEST_TEXT && bytes(longest) > MOST_TEXT_BYTES) longest = Math.ceil(longest / 2);
  return longest;
}
