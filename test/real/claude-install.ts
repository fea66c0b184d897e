/** The real Claude Code from npm, put into a folder. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The version that the rules were recorded with. */
export const claudeVersion = '2.1.329';

/** Answers the folder to put on PATH; 361 MB are fetched where it is not there yet. */
export function claudeIn(prefix: string): string {
  const bin = join(prefix, 'node_modules', '.bin');
  if (!existsSync(join(bin, 'claude'))) install(prefix);
  return bin;
}

/** npm may leave install scripts out; the one of this package puts the native program in its place. */
function install(prefix: string): void {
  const wanted = `@anthropic-ai/claude-code@${claudeVersion}`;
  const folder = join(prefix, 'node_modules', '@anthropic-ai', 'claude-code');
  const run = (command: string, args: readonly string[]) => spawnSync(command, args, { stdio: 'inherit' }).status === 0;
  console.error(`installing ${wanted} …`);
  const done =
    run('npm', ['install', '--prefix', prefix, '--no-audit', '--no-fund', '--loglevel', 'error', wanted]) &&
    run(process.execPath, [join(folder, 'install.cjs')]);
  if (!done) throw new Error(`${wanted} could not be installed.`);
}
