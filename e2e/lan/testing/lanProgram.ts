import { builtFile } from '../../testing/builtFile.ts';

/** The path of a program of `e2e/lan/programs`, built. */
export function lanProgram(name: string): string {
  return builtFile(`e2e/lan/programs/${name}.js`);
}
