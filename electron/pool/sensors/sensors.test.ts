import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../gguf/testing/temporaryFolder.ts';
import { parseAppleCards } from './appleCards.ts';
import { parseNvidiaCards, readNvidiaCards } from './nvidiaCards.ts';
import { readCpuCelsius } from './readCpuCelsius.ts';
import { readGpus } from './readGpus.ts';
import { readMachineMemory } from './readMachineMemory.ts';
import { readOnBattery } from './readOnBattery.ts';
import { runProgram } from './runProgram.ts';

const folder = temporaryFolder();
beforeEach(folder.make);
afterEach(folder.remove);

/** Writes a /sys of files, and links where the content begins with `->`. */
async function system(files: Record<string, string>): Promise<string> {
  for (const [path, content] of Object.entries(files)) {
    const at = folder.at(path);
    await mkdir(dirname(at), { recursive: true });
    if (content.startsWith('->')) await symlink(content.slice(2), at);
    else await writeFile(at, `${content}\n`);
  }
  return folder.at('.');
}

describe('the power supply', () => {
  const supply = 'class/power_supply';
  const laptop = {
    [`${supply}/ACAD/type`]: 'Mains',
    [`${supply}/ACAD/online`]: '0',
    [`${supply}/BAT1/type`]: 'Battery',
    [`${supply}/BAT1/status`]: 'Discharging',
    // A mouse, whose battery is not the machine's.
    [`${supply}/hid-mouse/type`]: 'Battery',
    [`${supply}/hid-mouse/scope`]: 'Device',
    [`${supply}/hid-mouse/status`]: 'Discharging',
  };

  test.each([
    ['a laptop that is unplugged', {}, true],
    ['one that is plugged in, whatever its plug is called', { [`${supply}/ACAD/online`]: '1' }, false],
    ['a full battery that does not charge', { [`${supply}/BAT1/status`]: 'Not charging' }, false],
    ['one that is powered through USB-C', { [`${supply}/ucsi/type`]: 'USB', [`${supply}/ucsi/online`]: '1' }, false],
  ])('%s', async (_name, change, onBattery) => {
    expect(await readOnBattery('linux', await system({ ...laptop, ...change }))).toBe(onBattery);
  });

  test('a desktop has none', async () => {
    expect(await readOnBattery('linux', folder.at('.'))).toBe(false);
  });
});

describe('the temperature of the processor', () => {
  test('is the hottest of its own sensor, not that of a disk', async () => {
    const sys = await system({
      'class/hwmon/hwmon0/name': 'nvme',
      'class/hwmon/hwmon0/temp1_input': '99000',
      'class/hwmon/hwmon1/name': 'coretemp',
      'class/hwmon/hwmon1/temp1_input': '61000',
      'class/hwmon/hwmon1/temp2_input': '72500',
    });
    expect(await readCpuCelsius('linux', sys)).toBe(72.5);
  });

  test('comes from a thermal zone where there is no such sensor, and is unknown without either', async () => {
    const sys = await system({
      'class/thermal/thermal_zone0/type': 'acpitz',
      'class/thermal/thermal_zone0/temp': '20000',
      'class/thermal/thermal_zone1/type': 'x86_pkg_temp',
      'class/thermal/thermal_zone1/temp': '65000',
    });
    expect(await readCpuCelsius('linux', sys)).toBe(65);
    expect(await readCpuCelsius('linux', folder.at('nothing'))).toBeNull();
  });
});

describe('NVIDIA cards', () => {
  const cards = [
    '0, 00000000:01:00.0, 8188, 1024, 37, 61, NVIDIA GeForce RTX 4070 Laptop GPU',
    '1, 00000000:C1:00.0, 24564, 3, [N/A], [N/A], NVIDIA GeForce RTX 4090',
    '',
  ].join('\n');
  const programs = [
    '# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command ',
    '# Idx           #    C/G      %      %      %      %      %      %    name ',
    '    0       2391     G      3      1      -      -      -      -    Xorg           ',
    '    0       8124   C+G     34     12      -      -      -      -    game           ',
    '    0       9001     C      -      -      -      -      -      -    node           ',
    '    1          -     -      -      -      -      -      -      -    -              ',
  ].join('\n');

  test('are read with memory, use and programs, in the addresses that ggml uses', () => {
    expect(parseNvidiaCards(cards, programs)).toEqual([
      {
        name: 'NVIDIA GeForce RTX 4070 Laptop GPU',
        pciAddress: '0000:01:00.0',
        totalBytes: 8188 * 2 ** 20,
        usedBytes: 1024 * 2 ** 20,
        busy: 0.37,
        celsius: 61,
        programs: [
          { pid: 2391, busy: 0.03 },
          { pid: 8124, busy: 0.34 },
          { pid: 9001, busy: 0 },
        ],
      },
      {
        name: 'NVIDIA GeForce RTX 4090',
        pciAddress: '0000:c1:00.0',
        totalBytes: 24564 * 2 ** 20,
        usedBytes: 3 * 2 ** 20,
        busy: null,
        celsius: null,
        programs: [],
      },
    ]);
  });

  test('without a list of programs, or with one in words, none are told', () => {
    const answers = [null, 'Not supported on the device(s)'].map((text) => parseNvidiaCards(cards, text)[0]?.programs);
    expect(answers).toEqual([null, null]);
  });

  test('are none where the tool is missing', async () => {
    expect(await runProgram('roomful-no-such-program', [])).toBeNull();
    expect(await readNvidiaCards(async () => null)).toEqual([]);
  });

  test('of a laptop that sleep are not woken', async () => {
    const sys = await system({ 'bus/pci/drivers/nvidia/0000:01:00.0/power/runtime_status': 'suspended' });
    const asked: string[] = [];
    const run = async (file: string): Promise<null> => {
      asked.push(file);
      return null;
    };
    expect(await readGpus(run, 'linux', sys)).toEqual([]);
    expect(asked).toEqual([]);
    expect(await readGpus(run, 'linux', folder.at('nothing'))).toEqual([]);
    expect(asked).toEqual(['nvidia-smi']);
  });
});

test('AMD cards are read from their driver, those that sleep are not asked', async () => {
  const device = 'devices/pci0000:00/0000:03:00.0';
  const asleep = 'devices/pci0000:00/0000:04:00.0';
  const sys = await system({
    'class/drm/card1/device': `->../../../${device}`,
    'class/drm/card1-DP-1/status': 'connected',
    'class/drm/card2/device': `->../../../${asleep}`,
    'class/drm/renderD128/device': `->../../../${device}`,
    [`${device}/vendor`]: '0x1002',
    [`${device}/driver`]: '->../../../bus/pci/drivers/amdgpu',
    'bus/pci/drivers/amdgpu/bind': '',
    [`${device}/power/runtime_status`]: 'active',
    [`${device}/mem_info_vram_total`]: '17163091968',
    [`${device}/mem_info_vram_used`]: '400000000',
    [`${device}/gpu_busy_percent`]: '12',
    [`${device}/hwmon/hwmon4/temp1_input`]: '54000',
    [`${asleep}/vendor`]: '0x1002',
    [`${asleep}/power/runtime_status`]: 'suspended',
    [`${asleep}/hwmon/hwmon5/temp1_input`]: '1000',
  });
  expect(await readGpus(async () => null, 'linux', sys)).toEqual([
    {
      name: 'amdgpu',
      pciAddress: '0000:03:00.0',
      totalBytes: 17163091968,
      usedBytes: 400000000,
      busy: 0.12,
      celsius: 54,
      programs: null,
    },
    {
      name: '0x1002',
      pciAddress: '0000:04:00.0',
      totalBytes: null,
      usedBytes: null,
      busy: 0,
      celsius: null,
      programs: null,
    },
  ]);
});

test('the graphics processor of a Mac is read from the registry', () => {
  const registry = [
    '+-o AGXAcceleratorG13X  <class AGXAcceleratorG13X, id 0x100000526, registered, matched, active, busy 0 (0 ms), retain 129>',
    '    {',
    '      "model" = "Apple M1 Max"',
    '      "PerformanceStatistics" = {"In use system memory (driver)"=0,"Alloc system memory"=9846292480,"Tiler Utilization %"=8,"recoveryCount"=0,"Renderer Utilization %"=8,"Device Utilization %"=11,"In use system memory"=712949760}',
    '      "gpu-core-count" = 32',
    '    }',
  ].join('\n');
  expect(parseAppleCards(registry)).toEqual([
    {
      name: 'Apple M1 Max',
      pciAddress: null,
      totalBytes: null,
      usedBytes: 712949760,
      busy: 0.11,
      celsius: null,
      programs: null,
    },
  ]);
  expect(parseAppleCards('')).toEqual([]);
});

test('this machine has memory, and some of it available', async () => {
  const { totalBytes, availableBytes } = await readMachineMemory();
  expect(availableBytes).toBeGreaterThan(0);
  expect(availableBytes).toBeLessThanOrEqual(totalBytes);
});
