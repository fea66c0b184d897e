/** The real Claude Code from npm, put into a folder and pointed at a model server. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The version that the rules were recorded with. */
export const claudeVersion = '2.1.332';

/** Answers the folder to put on PATH; 361 MB are fetched where it is not there yet. */
export function claudeIn(prefix: string): string {
  const bin = join(prefix, 'node_modules', '.bin');
  if (!existsSync(join(bin, 'claude'))) install(prefix);
  return bin;
}

/** Variables with which Claude Code finds a model server, asks nobody else and gives up soon. */
export function claudeEnv(modelUrl: string): Readonly<Record<string, string>> {
  return {
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_AUTH_TOKEN: 'scripted',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: '1',
    CLAUDE_CODE_MAX_RETRIES: '1',
  };
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
