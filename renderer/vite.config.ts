import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The window: one page that both Electron and a browser load from the member's gateway. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../dist/renderer',
    emptyOutDir: true,
    // The content security policy allows no inlined files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
