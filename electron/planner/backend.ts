/** The ggml backend that computes on a member. */
export type Backend = 'Cuda' | 'Rocm' | 'Metal' | 'Vulkan' | 'Sycl' | 'OpenCl' | 'Musa' | 'Cann' | 'Cpu';

export const backends: readonly Backend[] = [
  'Cuda',
  'Rocm',
  'Metal',
  'Vulkan',
  'Sycl',
  'OpenCl',
  'Musa',
  'Cann',
  'Cpu',
];

/** Every name by its lower case: our own, and those of ggml that differ from them. */
const known: ReadonlyMap<string, Backend> = new Map([
  ...backends.map((backend) => [backend.toLowerCase(), backend] as const),
  ['hip', 'Rocm'],
  ['mtl', 'Metal'],
]);

/** The backend that people or ggml call by this name, in any case: `CUDA` and `Cuda` are one. Undefined for any other. */
export function backendNamed(name: string): Backend | undefined {
  return known.get(name.toLowerCase());
}

/** The same for what a machine reports: a backend that we do not know (`BLAS`) computes on the CPU. */
export function backendOrCpu(name: string): Backend {
  return backendNamed(name) ?? 'Cpu';
}
