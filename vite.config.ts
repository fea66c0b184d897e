/**
 * One build for everything that is shipped: `vite build --app` makes the five environments below into `out/`.
 * renderer: the page, and its service worker beside it. server: the programs that Node runs (cli, pane-host, a worker's thread). main, preload: the Electron shell.
 * Native modules stay outside, because their binaries lie beside their packages; all else is bundled.
 */
import { cpSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type EnvironmentOptions, type Plugin } from 'vite';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const builtins = builtinModules.flatMap((name) => (name.startsWith('node:') ? [name] : [name, `node:${name}`]));
/** Outside of the bundle: native, or a library that looks for files beside itself. */
const natives = ['electron', 'better-sqlite3', 'node-pty', 'playwright-core'];

/** A bundle that Node (or Electron's own Node) runs. Not minified: stack traces of a fault must be legible. */
function program(input: Record<string, string>, outDir: string, format: 'es' | 'cjs'): EnvironmentOptions {
  return {
    consumer: 'server',
    resolve: {
      noExternal: true,
      external: natives,
      builtins,
      // Without 'import' and 'require': which of the two holds follows from each importer, and a require() must get CommonJS.
      conditions: ['node', 'module', 'default'],
      mainFields: ['module', 'main'],
    },
    build: {
      outDir: path(outDir),
      emptyOutDir: true,
      target: 'node24',
      minify: false,
      sourcemap: false,
      copyPublicDir: false,
      reportCompressedSize: false,
      rolldownOptions: {
        input: Object.fromEntries(Object.entries(input).map(([name, file]) => [name, path(file)])),
        external: [...natives, ...builtins],
        platform: 'node',
        output: {
          format,
          entryFileNames: format === 'cjs' ? '[name].cjs' : '[name].js',
          chunkFileNames: 'chunks/[name]-[hash].js',
        },
      },
    },
  };
}

/** What the conversion program reads beside itself: which characters the codes of Chinese, Japanese and Korean fonts in PDFs are. */
function characterMaps(): Plugin {
  return {
    name: 'character-maps',
    applyToEnvironment: (environment) => environment.name === 'server',
    // Beside the program, wherever this build puts it.
    writeBundle: ({ dir = path('out/server') }) =>
      cpSync(path('node_modules/pdfjs-dist/cmaps'), join(dir, 'cmaps'), { recursive: true }),
  };
}

export default defineConfig({
  root: path('src/renderer'),
  plugins: [react(), tailwind(), characterMaps()],
  environments: {
    client: {
      build: {
        outDir: path('out/renderer'),
        emptyOutDir: true,
        target: 'es2023',
        // Nothing as data: in the page: its policy lets fonts and scripts come from its own origin only.
        assetsInlineLimit: 0,
        reportCompressedSize: false,
        // The terminal and its renderer are one piece; the page loads it only with the first pane.
        chunkSizeWarningLimit: 900,
        rolldownOptions: {
          output: {
            // One piece that runs before every schema.
            codeSplitting: { groups: [{ name: 'schemas', test: /node_modules[\\/]zod[\\/]|plain-schemas/ }] },
          },
        },
      },
    },
    worker: {
      // One script of one piece at a name that never changes: the browser asks for it again and compares.
      consumer: 'client',
      build: {
        outDir: path('out/renderer'),
        emptyOutDir: false,
        copyPublicDir: false,
        target: 'es2023',
        reportCompressedSize: false,
        rolldownOptions: {
          input: { sw: path('src/renderer/service-worker.ts') },
          output: { format: 'iife', entryFileNames: '[name].js' },
        },
      },
    },
    server: program(
      {
        cli: 'src/cli/main.ts',
        'pane-host': 'src/pane-host/main.ts',
        'worker-beats': 'src/worker/beats-thread.ts',
        'schema-checker': 'src/kit/schemas/thread.ts',
        converter: 'src/converter/main.ts',
        executor: 'src/executor/main.ts',
        'hosted-device': 'src/host/hosted-device.ts',
        'carrier-simulator': 'src/carrier-simulator/main.ts',
      },
      'out/server',
      'es',
    ),
    main: program({ main: 'src/main/main.ts' }, 'out/main', 'es'),
    preload: program({ preload: 'src/preload/preload.ts' }, 'out/preload', 'cjs'),
  },
  builder: {
    async buildApp(builder) {
      for (const name of ['client', 'worker', 'server', 'main', 'preload']) {
        const environment = builder.environments[name];
        if (environment !== undefined) await builder.build(environment);
      }
    },
  },
});
