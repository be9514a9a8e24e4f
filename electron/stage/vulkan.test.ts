import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeAddon, NativeDevice, NativeVocabulary } from './nativeAddon.ts';
import { chatPrompt, demoOptions, demoPath, hopAnswer } from './testing/demoModel.ts';
import { generate } from './testing/generate.ts';
import { hasSoftwareVulkan, softwareVulkanEnv } from './testing/softwareVulkan.ts';
import { chainOf, loadChain, type StageChain } from './testing/stageChain.ts';
import { textOf } from './testing/textOf.ts';

describe.skipIf(!hasSoftwareVulkan())('on a Vulkan device in software', () => {
  const folder = temporaryFolder();
  let addon: NativeAddon;
  let device: NativeDevice;
  let vocabulary: NativeVocabulary;
  beforeAll(async () => {
    await folder.make();
    // Read by the driver itself, so it must be in the environment of the process.
    Object.assign(process.env, softwareVulkanEnv);
    ({ addon } = loadAddon());
    const found = addon.devices().find(({ kind }) => kind !== 'cpu');
    if (found === undefined) throw new Error('the Vulkan variant lists no device');
    device = found;
    vocabulary = await addon.loadVocabulary(demoPath);
  });
  afterAll(folder.remove);

  const onDevice = () => demoOptions({ gpuLayers: 99, device: device.name, slots: 1, batch: 32, contextLength: 256 });

  async function hop(chain: StageChain, format: 'f16' | 'f32'): Promise<string> {
    const prompt = vocabulary.tokenize(chatPrompt('What is a hop?'), { addSpecial: true, parseSpecial: true });
    const endTokens = vocabulary.endTokens();
    return textOf(vocabulary, await generate(chain, prompt, { count: 100, format, endTokens }));
  }

  it('the device is listed with its memory', () => {
    expect(device).toMatchObject({ backend: 'Vulkan', name: 'Vulkan0', pciAddress: null });
    expect(device.description).toMatch(/llvmpipe/);
    expect(device.totalBytes).toBeGreaterThan(2 ** 30);
    expect(device.freeBytes).toBeLessThanOrEqual(device.totalBytes);
  });

  it('its speed can be measured, within its memory', async () => {
    expect(await addon.readSpeed({ device: device.name, threads: 1, budgetMs: 1 })).toBeGreaterThan(0);
  });

  it('the whole model gives the same text, with KV and weights on the device', async () => {
    const stage = await addon.loadStage(onDevice(), () => undefined);
    const chain = chainOf([stage]);
    expect(stage.memory().kvBytes).toBe(12 * 256 * 2 * 64 * 2);
    expect(await hop(chain, 'f32')).toBe(hopAnswer);
    await chain.unload();
  });

  it('two stages give the same text, both on the device or the first on the CPU', async () => {
    const both = await loadChain(addon, onDevice(), [6], folder.at('.'));
    const cpu = await loadChain(addon, { ...onDevice(), gpuLayers: 0, device: null }, [6], folder.at('.'));
    const mixed = chainOf([...cpu.stages.slice(0, 1), ...both.stages.slice(1)]);
    expect(await hop(mixed, 'f16')).toBe(hopAnswer);
    expect(await hop(both, 'f32')).toBe(hopAnswer);
    await Promise.all([both.unload(), cpu.unload()]);
  });
});
