import { z } from 'zod';

/** Device-independent pixels. */
export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

const side = z.int().min(1).max(100_000);
const position = z.int().min(-100_000).max(100_000);

/** Where the window was when it was seen last. */
export const windowPlaceSchema = z.object({
  bounds: z.object({ x: position, y: position, width: side, height: side }),
  maximized: z.boolean(),
});
export type WindowPlace = z.infer<typeof windowPlaceSchema>;

export const LEAST_SIZE = { width: 720, height: 480 };
const USUAL_SIZE = { width: 1180, height: 780 };
/** Of a window, this much must lie on a display for it to be found there again. */
const GRIP = { width: 120, height: 40 };

/**
 * Where to open the window: where it was, if that is still on one of the displays, in a size that fits there; otherwise in
 * the middle of the first. `displays` are their work areas, the main one first.
 */
export function windowBounds(place: WindowPlace | null, displays: readonly Rectangle[]): Rectangle {
  const [main] = displays;
  const wanted = place?.bounds ?? null;
  const home = wanted === null ? undefined : bestDisplay(wanted, displays);
  const area = home ?? main;
  if (area === undefined) return { x: 0, y: 0, ...USUAL_SIZE };
  const size = wanted ?? USUAL_SIZE;
  const width = clamp(size.width, Math.min(LEAST_SIZE.width, area.width), area.width);
  const height = clamp(size.height, Math.min(LEAST_SIZE.height, area.height), area.height);
  if (wanted === null || home === undefined) {
    const middle = (start: number, room: number, length: number) => start + Math.round((room - length) / 2);
    return { x: middle(area.x, area.width, width), y: middle(area.y, area.height, height), width, height };
  }
  return {
    x: clamp(wanted.x, area.x, area.x + area.width - width),
    y: clamp(wanted.y, area.y, area.y + area.height - height),
    width,
    height,
  };
}

/** The display that shows most of it; undefined where none shows enough. */
function bestDisplay(bounds: Rectangle, displays: readonly Rectangle[]): Rectangle | undefined {
  let best: Rectangle | undefined;
  let most = 0;
  for (const display of displays) {
    const width = overlap(bounds.x, bounds.width, display.x, display.width);
    const height = overlap(bounds.y, bounds.height, display.y, display.height);
    if (width < Math.min(GRIP.width, bounds.width) || height < Math.min(GRIP.height, bounds.height)) continue;
    if (width * height <= most) continue;
    most = width * height;
    best = display;
  }
  return best;
}

function overlap(start: number, length: number, otherStart: number, otherLength: number): number {
  return Math.max(0, Math.min(start + length, otherStart + otherLength) - Math.max(start, otherStart));
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
