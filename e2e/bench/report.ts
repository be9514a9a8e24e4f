import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textTable } from '../../electron/cli/textTable.ts';

export interface BenchReport {
  title: string;
  columns: string[];
  rows: Record<string, string | number>[];
}

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Prints a report as a table, or as JSON alone, and keeps it as JSON below `.cache/bench`. */
export function publish(name: string, report: BenchReport, options: { json: boolean }): void {
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version };
  const json = `${JSON.stringify({ bench: name, machine, ...report }, null, 2)}\n`;
  const folder = join(root, '.cache', 'bench');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.json`);
  writeFileSync(path, json);
  if (options.json) {
    process.stdout.write(json);
    return;
  }
  const { title, columns, rows } = report;
  const cells = rows.map((row) => columns.map((column) => String(row[column] ?? '')));
  process.stdout.write(
    `${title}\n${machine.cores} cores, ${machine.cpu}\n\n${textTable(columns, cells)}\n\nJSON: ${path}\n`,
  );
}
