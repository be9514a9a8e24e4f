const SOFTWARE = /llvmpipe|lavapipe|swiftshader|softpipe|microsoft basic render/i;

/** Whether a device is a Vulkan driver that computes on the processor; backends list it as a graphics card. */
export function isSoftware({ description }: { description: string }): boolean {
  return SOFTWARE.test(description);
}
