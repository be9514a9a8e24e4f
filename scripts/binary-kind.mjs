/**
 * Says for which system and processor a program or library was made, in Node's words, by its first bytes: ELF, Mach-O
 * (thin, little-endian) or PE. Null for what is none of them, or for a processor that Roomful has no libraries for.
 *
 * @param {Buffer} bytes
 * @returns {{ platform: string, arch: string } | null}
 */
export function binaryKind(bytes) {
  if (bytes.length < 64) return null;
  if (bytes.readUInt32BE(0) === 0x7f454c46) return kind('linux', { 62: 'x64', 183: 'arm64' }, bytes.readUInt16LE(18));
  if (bytes.readUInt32LE(0) === 0xfeedfacf) {
    return kind('darwin', { 16777223: 'x64', 16777228: 'arm64' }, bytes.readUInt32LE(4));
  }
  const header = bytes.readUInt32LE(60);
  if (bytes.toString('latin1', 0, 2) !== 'MZ' || header + 6 > bytes.length) return null;
  return kind('win32', { 34404: 'x64', 43620: 'arm64' }, bytes.readUInt16LE(header + 4));
}

/** @returns {{ platform: string, arch: string } | null} */
function kind(platform, archs, machine) {
  const arch = archs[machine];
  return arch === undefined ? null : { platform, arch };
}
