/**
 * Writes files where the disk takes only a part of them. `node file-writer.ts <folder>`
 * Prints for each way of writing `refused` or `written`, what lies under the name then, and what lies beside it.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWithin } from '../../../src/kit/files/within.ts';
import { writePrivateFile } from '../../../src/kit/secrets/token-file.ts';
import { setUpstreams } from '../../../src/runtime-server/tool-server/upstream.ts';

const folder = process.argv[2] ?? '.';
const ballast = join(folder, 'ballast');

/** Leaves so many bytes free. */
function fill(left: number): void {
  rmSync(ballast, { force: true });
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - left));
}

function attempt(name: string, write: () => void): void {
  const file = join(folder, 'own', name);
  rmSync(ballast, { force: true });
  writeWithin(folder, `own/${name}`, 'before');
  fill(8192);
  let how = 'written';
  try {
    write();
  } catch {
    how = 'refused';
  }
  const now = readFileSync(file, 'utf8');
  console.log(
    `${name} ${how} ${now === 'before' ? 'as before' : now.length} ${readdirSync(join(folder, 'own')).join(' ')}`,
  );
  rmSync(file);
}

attempt('within', () => writeWithin(folder, 'own/within', 'x'.repeat(100_000)));
attempt('private', () => writePrivateFile(join(folder, 'own', 'private'), 'x'.repeat(100_000)));

rmSync(ballast, { force: true });
const git = (...args: string[]) => execFileSync('git', ['-C', join(folder, 'work'), ...args], { stdio: 'pipe' });
execFileSync('git', ['init', '-q', '-b', 'main', join(folder, 'work')]);
git('-c', 'user.name=a', '-c', 'user.email=a@b.example', 'commit', '-q', '--allow-empty', '-m', 'first');
git('remote', 'add', 'origin', folder);
git('update-ref', 'refs/remotes/origin/main', 'HEAD');
const config = join(folder, 'work', '.git', 'config');
const { bsize } = statfsSync(folder);
// The last block is full: the first byte more wants another one.
const text = readFileSync(config, 'utf8');
const padded = `${text}#${'x'.repeat((Math.ceil(text.length / bsize) + 1) * bsize - text.length - 12)}`;
writeFileSync(config, `${padded}\n`);
fill(0);
const told = await setUpstreams({
  cwd: join(folder, 'work'),
  line: 'git push -u origin main',
  printed: '',
  isOurs: () => true,
});
console.log(`config ${readFileSync(config, 'utf8') === `${padded}\n` ? 'as before' : 'changed'} ${told.join(' ')}`);
