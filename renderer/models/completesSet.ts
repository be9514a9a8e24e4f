/**
 * Whether a file of a drop is the one with which it is imported: a model of one file, or the last that came of a split set,
 * as gguf-split names them.
 */
export function completesSet(names: readonly string[], index: number): boolean {
  const set = setOf(names[index] ?? '');
  return set === null || !names.slice(index + 1).some((name) => setOf(name) === set);
}

function setOf(name: string): string | null {
  const [, before, count] = /^(.*)-\d{5}-of-(\d{5})\.gguf$/i.exec(name) ?? [];
  return before === undefined ? null : `${before} of ${count}`;
}
