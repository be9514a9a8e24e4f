/** What the planner needs to know of a model: bytes and widths, nothing of its contents. All sizes in bytes. */
export interface ModelShape {
  name: string;
  /** `general.architecture` of the GGUF. */
  architecture: string;
  /** n_embd. */
  hiddenSize: number;
  vocabularySize: number;
  /** Trained context length in tokens; 0 where the file does not say. */
  contextLength: number;
  layers: LayerShape[];
  /** Tensors that only the first stage holds (the token embedding; kept outside llama.cpp, in host memory). */
  embeddingBytes: number;
  /** Tensors that only the last stage holds (output norm and head). */
  outputBytes: number;
  /** Global tensors that every stage holds a copy of (rope factors). */
  sharedBytes: number;
  /**
   * Counted in `embeddingBytes` and in `outputBytes` though the file holds them once: an embedding that is also the head;
   * 0 where left out.
   */
  tiedBytes?: number | undefined;
  /**
   * Layers at which a stage may begin, ascending, without 0; empty where the model must stay whole, and then
   * `unsplittableReason` says why in one line.
   */
  cutPoints: number[];
  unsplittableReason: string | null;
  /** Most query heads of a layer, for the compute buffers; as for heads of 64 where left out. */
  attentionHeads?: number | undefined;
  /** Widest feed-forward part that one token goes through; four times `hiddenSize` where left out. */
  feedForwardSize?: number | undefined;
  /** Number of weights, for compute estimates and the advice of a smaller quant; unknown where left out. */
  parameters?: number | undefined;
  /** How a model that writes no text turns texts into vectors; null or left out for one that does. */
  textEmbedding?: TextEmbedding | null | undefined;
  /** Experts of a mixture, null or left out for a dense model. */
  experts?: { count: number; usedPerToken: number } | null | undefined;
}

/** What a model makes of a text in place of an answer. */
export interface TextEmbedding {
  /** How its rows become one vector: `rank` gives a score of two texts in place of one, `unknown` is not known here. */
  pooling: 'mean' | 'cls' | 'last' | 'rank' | 'unknown';
  /**
   * Texts are computed whole, as many as fit into a step, and nothing of them is kept: their tokens look ahead, or the first
   * one speaks for all. Else they pass in chunks, as prompts do.
   */
  wholeTexts: boolean;
}

export interface LayerShape {
  weightBytes: number;
  /** Bytes of KV per token of context at f16; 0 for a layer without attention. */
  kvBytesPerToken: number;
  /** Tokens of the attention window, null for full attention. */
  slidingWindow: number | null;
  /** The part of `weightBytes` that lies in expert tensors, of which a token reads only some; 0 where left out. */
  expertBytes?: number | undefined;
  /** Recurrent state in bytes per slot, for layers that keep one; 0 where left out. */
  stateBytesPerSlot?: number | undefined;
}
