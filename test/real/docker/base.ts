/** The base that the images of the play are built on: a Debian by debootstrap, with the Node and the npm that this repository is tested with. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../../docs/blocks.ts';

/** A tar file of its root; made once for a checkout, in half a minute. */
export function baseArchive(): string {
  const folder = join(root, 'node_modules', '.cache', 'docker-base');
  const archive = join(folder, `bookworm-node-${process.version}.tar`);
  if (existsSync(archive)) return archive;
  const made = join(folder, 'root');
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  run('debootstrap', '--variant=minbase', '--include=ca-certificates', 'bookworm', made);
  for (const left of ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/man', 'usr/share/locale'])
    emptyFolder(join(made, left));
  cpSync(process.execPath, join(made, 'usr/local/bin/node'), { dereference: true });
  cpSync(npmFolder(), join(made, 'usr/local/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(made, 'usr/local/bin/npm'));
  run('tar', '--create', '--numeric-owner', '--file', `${archive}.new`, '--directory', made, '.');
  renameSync(`${archive}.new`, archive);
  rmSync(made, { recursive: true, force: true });
  return archive;
}

function emptyFolder(folder: string): void {
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    rmSync(join(folder, name), { recursive: true, force: true });
}

/** The folder of the npm that started this program, or of the one on the path. */
function npmFolder(): string {
  const program = process.env.npm_execpath ?? execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
  return dirname(dirname(realpathSync(program)));
}

function run(program: string, ...words: readonly string[]): void {
  execFileSync(program, words, { stdio: ['ignore', 'ignore', 'inherit'] });
}
