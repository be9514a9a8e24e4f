/** One model of a drop: a file, or the files of a split set, as gguf-split names them. */
export interface DroppedModel<F> {
  /** `big.gguf`, also of `big-00001-of-00003.gguf` and its sisters. */
  name: string;
  /** As they came. With the last of them the model is imported. */
  files: F[];
  /** Names of the files of the set that were not dropped; they may lie on the disk already. */
  missing: string[];
}

/** The models of a drop, in the order of their first files; the files of a set may come in any order, between others. */
export function droppedModels<F extends { name: string }>(files: readonly F[]): DroppedModel<F>[] {
  const sets = new Map<string, { name: string; of: SplitName | null; files: F[] }>();
  for (const file of files) {
    const of = splitName(file.name);
    // Two lone files of one name are two models.
    const key = of === null ? `alone ${sets.size}` : `${of.before} of ${of.count}`;
    const name = of === null ? file.name : `${of.before}.gguf`;
    const set = sets.get(key) ?? { name, of, files: [] };
    set.files.push(file);
    sets.set(key, set);
  }
  return [...sets.values()].map(({ name, of, files: own }) => ({ name, files: own, missing: missingOf(of, own) }));
}

interface SplitName {
  before: string;
  count: string;
}

function splitName(name: string): SplitName | null {
  const [, before, count] = /^(.*)-\d{5}-of-(\d{5})\.gguf$/i.exec(name) ?? [];
  return before === undefined || count === undefined ? null : { before, count };
}

function missingOf(of: SplitName | null, files: readonly { name: string }[]): string[] {
  if (of === null) return [];
  const there = new Set(files.map(({ name }) => name.toLowerCase()));
  const all = Array.from(
    { length: Number(of.count) },
    (_, index) => `${of.before}-${String(index + 1).padStart(5, '0')}-of-${of.count}.gguf`,
  );
  return all.filter((name) => !there.has(name.toLowerCase()));
}
