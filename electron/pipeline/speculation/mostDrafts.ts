/** Drafts that one run carries at most: a stage gives logits for these and for the token after them. */
export const MOST_DRAFTS = 8;
/** Steps of one sequence that are under way at most. */
export const MOST_AHEAD = 8;
