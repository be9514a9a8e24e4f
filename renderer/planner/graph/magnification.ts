/** How much larger than usual the window draws everything, on screens of many pixels. */
export function magnification(): number {
  return Number(getComputedStyle(document.documentElement).getPropertyValue('--magnify')) || 1;
}
