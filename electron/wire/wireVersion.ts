/** Raised whenever a message changes its meaning; members of different versions form no pipeline. */
export const WIRE_VERSION = 1;
