import { type ReactNode, useCallback, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'react';
import { rowOffsets, rowsBetween } from './rowOffsets.ts';

const NEAR_THE_END = 48; // px; whoever scrolled further up wants to stay there
const BEYOND = 600; // px above and below the view that are drawn too

interface VirtualRowsProps {
  ids: readonly string[];
  /** px of a row that was never drawn. */
  estimate: number;
  label: string;
  /** Another one starts at its end. */
  listId: string;
  /** Grows with the last row. */
  growth: number;
  row: (index: number) => ReactNode;
}

/** A scrolled list that draws the rows in sight alone, and stays at its end while it grows there. */
export function VirtualRows({ ids, estimate, label, listId, growth, row }: VirtualRowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const follows = useRef(true);
  const [measured, noteMeasured] = useReducer((count: number) => count + 1, 0);
  const [view, setView] = useState({ top: 0, height: 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights change in place, and `measured` counts that
  const offsets = useMemo(() => rowOffsets(ids, heights.current, estimate), [ids, estimate, measured]);
  const total = offsets[ids.length] ?? 0;
  const top = follows.current ? total - view.height : view.top;
  const { first, end } = rowsBetween(offsets, top - BEYOND, top + view.height + BEYOND);

  const observer = useRowHeights(heights.current, noteMeasured);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list starts at its end
  useLayoutEffect(() => {
    follows.current = true;
  }, [listId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whatever changes the height moves the end
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  }, [total, growth, view.height, listId]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const sizes = new ResizeObserver(() => setView({ top: element.scrollTop, height: element.clientHeight }));
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);

  const onScroll = () => {
    const element = scroller.current;
    if (element === null) return;
    const { scrollHeight, scrollTop, clientHeight } = element;
    follows.current = scrollHeight - scrollTop - clientHeight < NEAR_THE_END;
    setView({ top: scrollTop, height: clientHeight });
  };

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable with the keyboard
    <div className="turns" ref={scroller} onScroll={onScroll} role="log" aria-label={label} tabIndex={0}>
      <div style={{ height: offsets[first] }} />
      {ids.slice(first, end).map((id, index) => (
        <div key={id} data-row={id} ref={observer} className="turn-row">
          {row(first + index)}
        </div>
      ))}
      <div style={{ height: total - (offsets[end] ?? total) }} />
    </div>
  );
}

/** Measures every row that is drawn; the function returned is its ref. */
function useRowHeights(heights: Map<string, number>, onChange: () => void): (element: HTMLElement | null) => void {
  const observer = useRef<ResizeObserver | null>(null);
  return useCallback(
    (element: HTMLElement | null) => {
      if (element === null) return;
      observer.current ??= new ResizeObserver((entries) => {
        let changed = false;
        for (const { target, borderBoxSize } of entries) {
          const id = target instanceof HTMLElement ? target.dataset.row : undefined;
          const height = borderBoxSize[0]?.blockSize;
          if (id === undefined || height === undefined || !target.isConnected || heights.get(id) === height) continue;
          heights.set(id, height);
          changed = true;
        }
        if (changed) onChange();
      });
      const sizes = observer.current;
      sizes.observe(element);
      return () => sizes.unobserve(element);
    },
    [heights, onChange],
  );
}
