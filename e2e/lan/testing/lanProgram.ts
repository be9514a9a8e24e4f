import { fileURLToPath } from 'node:url';

/** The path of a program of `e2e/lan/programs`, built. */
export function lanProgram(name: string): string {
  return fileURLToPath(new URL(`../../../dist/e2e/lan/programs/${name}.js`, import.meta.url));
}
