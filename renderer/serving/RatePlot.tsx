import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import type { Rate } from './servingStore.ts';
import 'uplot/dist/uPlot.min.css';

const HEIGHT = 54;

/** Tokens per second of the last answers, as a small line. */
export function RatePlot({ rates, label }: { rates: readonly Rate[]; label: string }) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    plot.current = new uPlot(optionsFor(element), [[], []], element);
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => {
    plot.current?.setData([rates.map((_, index) => index), rates.map(({ tokensPerSecond }) => tokensPerSecond)]);
  }, [rates]);
  return <div className="rate-plot" ref={host} role="img" aria-label={label} />;
}

function optionsFor(element: HTMLElement): uPlot.Options {
  const color = getComputedStyle(element).getPropertyValue('color');
  return {
    width: element.clientWidth,
    height: HEIGHT,
    cursor: { show: false },
    legend: { show: false },
    scales: { x: { time: false }, y: { range: (_plot, _least, most) => [0, Math.max(1, (most || 1) * 1.1)] } },
    axes: [{ show: false }, { show: false }],
    padding: [4, 4, 4, 4],
    series: [{}, { stroke: color, width: 2, points: { show: true, size: 5, fill: color } }],
  };
}
