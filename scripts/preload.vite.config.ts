import { defineConfig } from 'vite';

/** A sandboxed preload script must be one CommonJS file that requires nothing but electron. */
export default defineConfig({
  root: `${import.meta.dirname}/..`,
  publicDir: false,
  build: {
    outDir: 'dist/preload',
    lib: { entry: 'electron/preload.ts', formats: ['cjs'], fileName: () => 'preload.cjs' },
    rolldownOptions: { external: ['electron'] },
    minify: false,
  },
});
