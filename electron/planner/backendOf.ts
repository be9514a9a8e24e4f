import type { Backend } from './member.ts';

/** ggml's names of its backends, in lower case. */
const BACKENDS: ReadonlyMap<string, Backend> = new Map([
  ['cuda', 'Cuda'],
  ['rocm', 'Rocm'],
  ['hip', 'Rocm'],
  ['metal', 'Metal'],
  ['mtl', 'Metal'],
  ['vulkan', 'Vulkan'],
  ['sycl', 'Sycl'],
  ['opencl', 'OpenCl'],
  ['musa', 'Musa'],
  ['cann', 'Cann'],
]);

/** The backend that ggml calls by this name; the CPU for any other. */
export function backendOf(name: string): Backend {
  return BACKENDS.get(name.toLowerCase()) ?? 'Cpu';
}
