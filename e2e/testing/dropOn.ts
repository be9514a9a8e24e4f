import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';

/** Drops files on the window of a browser as a file manager does. */
export async function dropOn(page: Page, files: readonly { path: string; name: string }[]): Promise<void> {
  const parts = files.map(({ path, name }) => ({ name, text: readFileSync(path).toString('base64') }));
  const transfer = await page.evaluateHandle(
    `(() => {
      const data = new DataTransfer();
      for (const { name, text } of ${JSON.stringify(parts)}) {
        data.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
      }
      return data;
    })()`,
  );
  await page.dispatchEvent('body', 'dragover', { dataTransfer: transfer });
  await page.getByText('Drop a GGUF, or all files of a split one').waitFor();
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
}
