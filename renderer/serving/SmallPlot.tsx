import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

const HEIGHT = 40; // px

interface SmallPlotProps {
  name: string;
  /** Oldest first; null where there is none. */
  values: readonly (number | null)[];
  /** Top of the scale at least. */
  most?: number;
  /** The last value, in words. */
  now: string;
}

/** What a number did lately, as a small line. */
export function SmallPlot({ name, values, most = 1, now }: SmallPlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    plot.current = new uPlot(optionsFor(element, most), [[], []], element);
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      plot.current?.destroy();
    };
  }, [most]);
  useEffect(() => {
    plot.current?.setData([values.map((_, index) => index), [...values]]);
  }, [values]);
  return (
    <figure className="small-plot">
      <figcaption>
        {name} <span className="number">{now}</span>
      </figcaption>
      <div className="small-plot-line" ref={host} role="img" aria-label={`${name} lately, now ${now}`} />
    </figure>
  );
}

function optionsFor(element: HTMLElement, top: number): uPlot.Options {
  const color = getComputedStyle(element).getPropertyValue('color');
  return {
    width: element.clientWidth,
    height: HEIGHT,
    cursor: { show: false },
    legend: { show: false },
    scales: { x: { time: false }, y: { range: (_plot, _least, most) => [0, Math.max(top, (most || 0) * 1.1)] } },
    axes: [{ show: false }, { show: false }],
    padding: [4, 4, 4, 4],
    series: [{}, { stroke: color, width: 2, points: { show: false } }],
  };
}
