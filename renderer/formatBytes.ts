const units = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Decimal units as disks and models are sold: `1.2 MB`, `640 KB`, `37 GB`. */
export function formatBytes(bytes: number): string {
  const exponent = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const value = bytes / 1000 ** exponent;
  const digits = exponent === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${units[exponent]}`;
}
