import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkPacked } from './before-pack.mjs';
import { binaryKind } from './binary-kind.mjs';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-pack-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The beginning of a library, as far as it is looked at. */
function library(write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(256);
  write(bytes);
  return bytes;
}
const machO = (processor: number) =>
  library((bytes) => {
    bytes.writeUInt32LE(0xfeedfacf, 0);
    bytes.writeUInt32LE(processor, 4);
  });
const portable = (machine: number) =>
  library((bytes) => {
    bytes.write('MZ', 0, 'latin1');
    bytes.writeUInt32LE(128, 60);
    bytes.write('PE', 128, 'latin1');
    bytes.writeUInt16LE(machine, 132);
  });

test('the program that runs this is of this machine', async () => {
  const { platform, arch } = process;
  expect(binaryKind(await readFile(process.execPath))).toEqual({ platform, arch });
});

test('libraries of other systems are known by their first bytes', () => {
  expect(binaryKind(machO(0x0100000c))).toEqual({ platform: 'darwin', arch: 'arm64' });
  expect(binaryKind(machO(0x01000007))).toEqual({ platform: 'darwin', arch: 'x64' });
  expect(binaryKind(portable(0x8664))).toEqual({ platform: 'win32', arch: 'x64' });
  expect(binaryKind(portable(0x14c))).toBeNull();
  expect(binaryKind(Buffer.from('no library'))).toBeNull();
  expect(binaryKind(Buffer.alloc(300))).toBeNull();
});

test('what would be packed for another machine is refused in one line', async () => {
  expect(() => checkPacked(folder, 'darwin', 'arm64')).toThrow('There is no addon to pack');
  await mkdir(join(folder, 'build', 'native'), { recursive: true });
  await writeFile(join(folder, 'build', 'native', 'roomful.node'), machO(0x0100000c));
  await mkdir(join(folder, 'node_modules', '@node-llama-cpp', 'mac-x64'), { recursive: true });
  expect(() => checkPacked(folder, 'darwin', 'x64')).toThrow('made for darwin arm64, not for darwin x64');
  expect(() => checkPacked(folder, 'darwin', 'arm64')).toThrow('libraries of llama.cpp for darwin arm64');
  await mkdir(join(folder, 'node_modules', '@node-llama-cpp', 'mac-arm64-metal'));
  checkPacked(folder, 'darwin', 'arm64');
});
