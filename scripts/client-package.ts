/**
 * Makes the package `@gantry/client` of `src/client` and the contracts that it uses: `node scripts/client-package.ts [folder]` writes the package and its
 * tarball there (default `dist/client`) and prints the tarball's path. It is not published. zod is bundled, so that the tarball installs offline.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(root, 'dist', 'client'));
const place = join(folder, 'package');

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly devDependencies: Readonly<Record<string, string>>;
}
const { version, license, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

rmSync(place, { recursive: true, force: true });
mkdirSync(place, { recursive: true });

const settings = join(folder, 'build.json');
writeFileSync(
  settings,
  JSON.stringify({
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: join(root, 'src'),
      outDir: place,
      lib: ['ES2024', 'DOM', 'DOM.Iterable', 'ESNext.Disposable'],
    },
    files: [join(root, 'src', 'client', 'gantry.ts')],
  }),
);
const run = (command: string, words: readonly string[], cwd: string) =>
  execFileSync(command, words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', settings], root);

const zod = join(root, 'node_modules', 'zod');
// Its sources are not needed to use it.
cpSync(zod, join(place, 'node_modules', 'zod'), {
  recursive: true,
  filter: (path) => relative(zod, path).split('/')[0] !== 'src',
});
cpSync(join(root, 'src', 'client', 'README.md'), join(place, 'README.md'));
writeFileSync(
  join(place, 'package.json'),
  `${JSON.stringify(
    {
      name: '@gantry/client',
      version,
      description: 'Typed calls of Gantry: work queue, hosted computers, runs, approvals, events.',
      license,
      private: true,
      type: 'module',
      engines: { node: '>=20.19' },
      exports: { '.': { types: './client/gantry.d.ts', default: './client/gantry.js' } },
      dependencies: { zod: devDependencies.zod },
      bundleDependencies: ['zod'],
    },
    null,
    2,
  )}\n`,
);
const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], place)) as [
  { readonly filename: string },
];
process.stdout.write(`${join(folder, packed.filename)}\n`);
