/**
 * Hook of electron-builder: the addon and the libraries of llama.cpp must be of the processor that is packed for. Both are
 * those of the machine that builds, so that each installer is built on a machine of its own kind.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { binaryKind } from './binary-kind.mjs';
import { root } from './setup.mjs';

/** electron-builder's numbers for processors, see builder-util's Arch. */
const archs = { 1: 'x64', 3: 'arm64' };
const folders = { linux: 'linux', darwin: 'mac', win32: 'win' };

export default function beforePack({ electronPlatformName: platform, arch }) {
  checkPacked(root, platform, archs[arch] ?? `processor ${arch}`);
}

/** Throws one plain line where `folder` holds nothing to pack for that system and processor. */
export function checkPacked(folder, platform, arch) {
  const wanted = `${platform} ${arch}`;
  const addon = join(folder, 'build', 'native', 'roomful.node');
  if (!existsSync(addon)) throw new Error(`There is no addon to pack at ${addon}; run \`npm run build\`.`);
  const found = binaryKind(readFileSync(addon));
  const is = found === null ? 'something else' : `${found.platform} ${found.arch}`;
  if (is !== wanted) throw new Error(`The addon is made for ${is}, not for ${wanted}; pack on a machine of that kind.`);
  // With the backend after it where there is no plain one: `mac-arm64-metal`.
  const libraries = `${folders[platform]}-${arch}`;
  const installed = readdirSync(join(folder, 'node_modules', '@node-llama-cpp'));
  if (installed.some((name) => name === libraries || name.startsWith(`${libraries}-`))) return;
  throw new Error(
    `The libraries of llama.cpp for ${wanted} are not installed; run \`npm ci\` on a machine of that kind.`,
  );
}
