/** Where the memory slider of a member ends, unless it has more. */
export const MOST_SLIDER_GB = 128;
