const units = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Decimal units as disks and models are sold: `1.2 MB`, `640 KB`, `37.4 GB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : 1)} ${units[unit]}`;
}
