import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cardReader, linuxTraits } from './cardTraits.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-cards-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Files as sysfs has them; those that end in / are folders. */
async function sysfs(...paths: string[]): Promise<void> {
  for (const path of paths) {
    const [name = '', text = ''] = path.split('=');
    await mkdir(join(folder, name.endsWith('/') ? name : dirname(name)), { recursive: true });
    if (!name.endsWith('/')) await writeFile(join(folder, name), `${text}\n`);
  }
}

test('sysfs tells cable, radio, container bridges and tunnels apart', async () => {
  await sysfs('eth0/type=1', 'eth0/device/', 'wlp2s0/type=1', 'wlp2s0/device/', 'wlp2s0/phy80211/');
  await sysfs(
    'br0/type=1',
    'br0/bridge/',
    'br0/brif/eth0/',
    'docker0/type=1',
    'docker0/bridge/',
    'docker0/brif/veth1/',
  );
  await sysfs('veth1/type=1', 'virbr0/type=1', 'virbr0/bridge/', 'wg0/type=65534');
  const traits = (name: string) => linuxTraits(name, folder);
  expect(traits('eth0')).toEqual({ medium: 'wired', inner: false });
  expect(traits('wlp2s0')).toEqual({ medium: 'wireless', inner: false });
  expect(traits('br0')).toEqual({ medium: 'wired', inner: false });
  expect(traits('docker0')).toMatchObject({ inner: true });
  expect(traits('virbr0')).toMatchObject({ inner: true });
  expect(traits('wg0')).toMatchObject({ inner: true });
  expect(traits('veth1')).toEqual({ medium: 'unknown', inner: false });
  expect(traits('gone')).toEqual({ medium: 'unknown', inner: false });
});

test('this machine has the cards that the system names, and the same object while they stay', async () => {
  const read = cardReader();
  const cards = await read();
  const outer = Object.entries(networkInterfaces()).filter(([, infos]) => infos?.some(({ internal }) => !internal));
  const named = [...cards.usable, ...cards.skipped].map(({ name }) => name);
  expect(named.sort()).toEqual(outer.map(([name]) => name).sort());
  expect(await read()).toBe(cards);
});
