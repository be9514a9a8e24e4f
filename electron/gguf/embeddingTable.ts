/** Where the rows of the token embedding lie, for the first stage, which looks them up itself. */
export interface EmbeddingTable {
  path: string;
  /** Byte offset of row 0 in the file. */
  offset: number;
  /** ggml type id. */
  type: number;
  /** Vocabulary size. */
  rows: number;
  /** n_embd. */
  columns: number;
  /** Every row is multiplied by this; 1 for most architectures. */
  scale: number;
}
