import { useStore } from '@xyflow/react';
import { type RefObject, useLayoutEffect } from 'react';
import { magnification } from './magnification.ts';

const LEAST_TEXT = 12; // px, as it is seen
/** Below this scale a card has room for its name, its layers and their bands alone. */
const SMALL = 0.56;
/** Below this one it has for shorter lines only. */
const DENSE = 0.8;

/** Keeps the words of a room readable however small it is drawn. Tells the style sheet alone: nothing is rendered anew. */
export function LeastText({ frame }: { frame: RefObject<HTMLElement | null> }) {
  const zoom = useStore(({ transform }) => Math.round(transform[2] * 50) / 50);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const scale = zoom / magnification();
    element.style.setProperty('--least', `${(LEAST_TEXT / scale).toFixed(1)}px`);
    element.dataset.detail = scale < SMALL ? 'small' : scale < DENSE ? 'dense' : 'full';
  }, [zoom, frame]);
  return null;
}
