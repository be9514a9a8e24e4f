/** Drafts that one run carries at most: a stage gives logits for these and for the token after them. */
export const MOST_DRAFTS = 8;
