import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The real module would download Electron.
  resolve: { alias: { electron: `${import.meta.dirname}/electron/desktop/testing/electronStandIn.ts` } },
  test: {
    include: ['electron/**/*.test.ts', 'renderer/**/*.test.{ts,tsx}', 'e2e/**/*.test.ts', 'scripts/**/*.test.ts'],
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
    // Two cores: llama.cpp spins, so files that compute must not run beside each other.
    fileParallelism: false,
    pool: 'forks',
    // Texts are held against llama.cpp on the CPU, whatever this machine has.
    env: { ROOMFUL_BACKEND: 'cpu' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
