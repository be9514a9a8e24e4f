import { z } from 'zod';

const heldSchema = z.object({
  /** Content id. */
  id: z.string(),
  /** What clients call it, see modelId. */
  name: z.string(),
  /** As its file says. */
  title: z.string(),
  parameters: z.number(),
  quantisation: z.string(),
  layers: z.int(),
  bytes: z.number(),
  /** It turns texts into vectors and writes none. */
  embedsOnly: z.boolean(),
});
/** A model whose file a member has, as it was when it was taken in. */
export type HeldModel = z.infer<typeof heldSchema>;

/** The models of this member's own disk. */
export interface HeldModels {
  list(): HeldModel[];
  /** Calls `listener` whenever `list` may be another one, until the function that it returns is called. */
  onChange(listener: () => void): () => void;
}

/** Reads what another member tells of the models that it has. Throws where that cannot be understood. */
export function parseHeld(told: readonly HeldModel[]): HeldModel[] {
  return z.array(heldSchema).parse(told);
}
