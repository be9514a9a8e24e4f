import type { BrowserContext, Page } from '@playwright/test';

/** Lets every page of a context note where what it shows jumps though nobody has touched it. */
export async function watchShifts(context: BrowserContext): Promise<void> {
  await context.addInitScript(`
    window.layoutShifts = [];
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput, sources } of list.getEntries()) {
        if (hadRecentInput) continue;
        const moved = sources.map(({ node }) => node?.parentElement?.className + ' > ' + (node?.className || node?.nodeName));
        window.layoutShifts.push({ value, moved });
      }
    }).observe({ type: 'layout-shift', buffered: true });
  `);
}

export interface LayoutShift {
  /** As the Layout Instability API has it: the share of the picture that moved, times how far it moved. */
  value: number;
  moved: string[];
}

/** The jumps since the last call, or since the page was loaded. */
export async function takeShifts(page: Page): Promise<LayoutShift[]> {
  // Shifts are told with the picture after the one in which they are seen.
  await page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))',
  );
  return page.evaluate<LayoutShift[]>('window.layoutShifts.splice(0)');
}
