/**
 * One build for everything that is shipped: `vite build --app` makes the five environments below into `out/`.
 * renderer: the page, and its service worker beside it. server: the programs that Node runs (cli, pane-host, a worker's thread). main, preload: the Electron shell.
 * Native modules stay outside, because their binaries lie beside their packages; all else is bundled.
 */
import { cpSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type EnvironmentOptions, type Plugin, type Rolldown } from 'vite';
import { billOf } from './scripts/bill-of-materials.ts';
import { noticesOf, packageOf, withDependencies } from './scripts/notices.ts';
import { callsOnly } from './scripts/page-routes.ts';

/** On a slow computer the first start would print a page about the build's own plugins. */
const checks = { bundlerTimings: false };

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const builtins = builtinModules.flatMap((name) => (name.startsWith('node:') ? [name] : [name, `node:${name}`]));
const isHttp = (name: string): boolean => /^(?:node:)?http$/.test(name);
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
        checks,
        input: Object.fromEntries(Object.entries(input).map(([name, file]) => [name, path(file)])),
        // `httpWithoutFetch` is asked about that one first.
        external: [...natives, ...builtins.filter((name) => !isHttp(name))],
        platform: 'node',
        output: {
          format,
          // V8 keeps the text of what it has loaded: a byte for each character, or two if any of them is not Latin-1.
          charset: 'ascii',
          comments: { annotation: false, jsdoc: false },
          entryFileNames: format === 'cjs' ? '[name].cjs' : '[name].js',
          chunkFileNames: 'chunks/[name]-[hash].js',
        },
      },
    },
  };
}

/** Used on many pages, and small. What draws terminals, differences and Markdown stays apart. */
const smallParts =
  /src[\\/]renderer[\\/](?:(?:app|base|ui)[\\/](?!terminal|text-view|diff|code|markdown)|areas[\\/]\w+[\\/](?:api|queries)\.ts)|src[\\/]contracts[\\/]/;

type Graph = Pick<Rolldown.PluginContext, 'getModuleInfo'>;

/** These files, what they import, and what that imports in turn; nothing that is loaded later. */
function withImports(starts: readonly string[], graph: Graph): ReadonlySet<string> {
  const reached = new Set(starts);
  for (const file of reached) for (const one of graph.getModuleInfo(file)?.importedIds ?? []) reached.add(one);
  return reached;
}

/** Whether a file is in a part of the page that is put together once, when it is first asked for. */
function partOf(name: string, files: (graph: Graph) => ReadonlySet<string>) {
  let reached: ReadonlySet<string> | null = null;
  return (id: string, graph: Graph): string | null => {
    reached ??= files(graph);
    return reached.has(id) ? name : null;
  };
}

const partOfPage = partOf('page', (graph) => withImports([path('src/renderer/page.tsx')], graph));
/** What Home loads by itself once it is shown. */
const partOfHome = partOf('home', (graph) =>
  withImports(graph.getModuleInfo(path('src/renderer/areas/home/home-page.tsx'))?.dynamicallyImportedIds ?? [], graph),
);

/**
 * An import of node:http reads all of its exports, and two of those load the whole of undici: 6 MB until garbage is collected, 2 MB from then on, in
 * each program, most of which use none of it. What is taken from the module object reads only what is named.
 */
function httpWithoutFetch(): Plugin {
  const id = '\0node-http';
  const values = Object.entries(Object.getOwnPropertyDescriptors(http)).filter(([, { value }]) => value !== undefined);
  const names = [...values.map(([name]) => name), 'globalAgent'].join(', ');
  return {
    name: 'http-without-fetch',
    enforce: 'pre',
    applyToEnvironment: (environment) => environment.name === 'server',
    resolveId: (source, _importer, { kind }) =>
      isHttp(source) && kind !== 'require-call' ? { id, moduleSideEffects: false } : null,
    load: (asked) =>
      asked === id
        ? `const http = process.getBuiltinModule('node:http'); export const { ${names} } = http; export default http;`
        : null,
  };
}

/** What the conversion program reads beside itself: text recognition with its English data, and which characters the codes of Chinese, Japanese and Korean fonts in PDFs are. */
function besideConverter(): Plugin {
  return {
    name: 'beside-converter',
    applyToEnvironment: (environment) => environment.name === 'server',
    // Beside the program, wherever this build puts it.
    writeBundle({ dir = path('out/server') }) {
      cpSync(path('node_modules/pdfjs-dist/cmaps'), join(dir, 'cmaps'), { recursive: true });
      const core = 'node_modules/tesseract.js-core/tesseract-core-simd-lstm';
      cpSync(path(`${core}.js`), join(dir, 'ocr', 'core.cjs'));
      cpSync(path(`${core}.wasm`), join(dir, 'ocr', 'core.wasm'));
      const language = 'node_modules/@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz';
      cpSync(path(language), join(dir, 'ocr', 'eng.traineddata.gz'));
    },
  };
}

/** Each file of the page as it is sent: beside it what Brotli and gzip make of it, where that is smaller (cloud-api/pages serves them). */
function compressed(): Plugin {
  const shrinks = /\.(?:js|css|html|svg|json|webmanifest)$/;
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  return {
    name: 'compressed',
    applyToEnvironment: (environment) => ['client', 'worker'].includes(environment.name),
    async writeBundle({ dir }, bundle) {
      if (dir === undefined) return;
      const files = Object.keys(bundle).filter((name) => shrinks.test(name));
      await Promise.all(
        files.map(async (name) => {
          const whole = await readFile(join(dir, name));
          const [br, gz] = await Promise.all([
            promisify(brotliCompress)(whole, brotli),
            promisify(gzip)(whole, { level: constants.Z_BEST_COMPRESSION }),
          ]);
          if (br.length < whole.length) await writeFile(join(dir, `${name}.br`), br);
          if (gz.length < whole.length) await writeFile(join(dir, `${name}.gz`), gz);
        }),
      );
    },
  };
}

/** The page's routes without what only servers need of them. */
function routesOfPage(): Plugin {
  const contracts = path('src/contracts/');
  return {
    name: 'routes-of-page',
    apply: 'build',
    applyToEnvironment: (environment) => environment.name === 'client',
    transform: {
      // After the types are gone.
      order: 'post',
      handler: (code, id) => (id.startsWith(contracts) ? callsOnly(code) : null),
    },
  };
}

/** In the build, though no module of theirs is: their files are copied, or become rules of the page's stylesheet. */
const copied = ['tesseract.js-core', '@tesseract.js-data/eng', 'tailwindcss'];

/** Folders of the packages that this build contains; of the process, because each environment loads this file for itself. */
const ofProcess = globalThis as { gantryBundled?: Set<string> };
ofProcess.gantryBundled ??= new Set();
const bundled = ofProcess.gantryBundled;
/** What stands in the bundles of each environment. */
function collectPackages(): Plugin {
  return {
    name: 'collect-packages',
    generateBundle(_options, bundle) {
      const ids = Object.values(bundle).flatMap((one) =>
        one.type === 'chunk'
          ? one.moduleIds
          : one.originalFileNames.map((name) => join(this.environment.config.root, name)),
      );
      for (const id of ids) {
        const folder = packageOf(id);
        if (folder !== null) bundled.add(folder);
      }
    },
  };
}

export default defineConfig({
  root: path('src/renderer'),
  plugins: [
    react(),
    tailwind(),
    httpWithoutFetch(),
    besideConverter(),
    routesOfPage(),
    compressed(),
    collectPackages(),
  ],
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
          checks,
          // A route or schema of the contracts that the page does not use is left out: making one has no effect.
          treeshake: { manualPureFunctions: ['defineRoute', 'z'] },
          output: {
            // Few files: what the frame and Home are made of is one; of the small pieces that several pages use, those that Home loads a
            // moment later are another, so that it is sent none of the rest.
            codeSplitting: {
              groups: [
                { name: 'first', tags: ['$initial'], priority: 4 },
                { name: partOfPage, debugName: 'page', priority: 3 },
                { name: partOfHome, debugName: 'home', minShareCount: 2, priority: 2 },
                { name: 'parts', test: smallParts, minShareCount: 2, priority: 1 },
              ],
            },
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
          checks,
          input: { sw: path('src/renderer/service-worker.ts') },
          output: { format: 'iife', entryFileNames: '[name].js' },
        },
      },
    },
    server: program(
      {
        cli: 'src/cli/main.ts',
        'pane-host': 'src/programs/pane-host/main.ts',
        'worker-beats': 'src/programs/worker/beats-thread.ts',
        'schema-checker': 'src/kit/schemas/thread.ts',
        'sandbox-probe': 'src/kit/sandbox/probe.ts',
        converter: 'src/programs/converter/main.ts',
        executor: 'src/programs/executor/main.ts',
        'hosted-device': 'src/host/hosted-device.ts',
        'computer-init': 'src/programs/computer-init/main.ts',
        'computer-link': 'src/programs/computer-init/link.ts',
        'sandbox-proxy': 'src/programs/sandbox-proxy/main.ts',
        'sandbox-launch': 'src/programs/sandbox-launch/main.ts',
        'acp-inside': 'src/programs/acp-inside/main.ts',
        'carrier-simulator': 'tools/carrier-simulator/main.ts',
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
      const beside = withDependencies(path('.'), [...natives.filter((name) => name !== 'electron'), ...copied]);
      const packages = [...bundled, ...beside];
      await writeFile(path('out/THIRD-PARTY-NOTICES.txt'), noticesOf(packages));
      const self = JSON.parse(await readFile(path('package.json'), 'utf8'));
      await writeFile(path('out/gantry.cdx.json'), billOf(packages, self));
    },
  },
});
