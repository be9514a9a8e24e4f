import { existsSync, readdirSync } from 'node:fs';
import { librariesOf, thisMachine } from '../librariesFolder.ts';

const drivers = '/usr/share/vulkan/icd.d';

/** Whether this machine has a Vulkan device in software, a GPU backend to test with; says so loudly where it has none. */
export function hasSoftwareVulkan(): boolean {
  const has =
    librariesOf('vulkan', thisMachine) !== null &&
    existsSync(drivers) &&
    readdirSync(drivers).some((name) => name.startsWith('lvp_icd'));
  if (!has) {
    process.stderr.write(
      'SKIPPED: no software Vulkan device here; install mesa-vulkan-drivers to test a GPU backend\n',
    );
  }
  return has;
}

/** What makes a process use it: llama.cpp hides software devices unless it is told which to use. */
export const softwareVulkanEnv = { ROOMFUL_BACKEND: 'vulkan', GGML_VK_VISIBLE_DEVICES: '0' };
