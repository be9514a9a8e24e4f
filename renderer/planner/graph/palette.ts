/** Colours of stages, `band-0` and so on in the style sheet; they come round again. */
export const PALETTE_SIZE = 6;
