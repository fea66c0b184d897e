/** Shows a long text in the person's pager, and returns when they leave it. Must not know what is shown. */
import { spawnSync } from 'node:child_process';
import type { Env } from './connect.ts';

/** The pager's command line; null: none is wanted, or nobody could turn the page. */
export function pagerOf(env: Env): string | null {
  // A bot in its pane would wait before the first page for ever.
  if (process.platform === 'win32' || env.GANTRY_TOKEN_FILE !== undefined || env.TERM === 'dumb') return null;
  const wanted = env.PAGER ?? 'less';
  return wanted === '' || wanted === 'cat' ? null : wanted;
}

/** False: it could not be started, and nothing was shown. */
export function page(text: string, pager: string, env: Env): boolean {
  // The pager answers Ctrl-C itself; without a listener it would end this process and leave the pager alone on the terminal.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    const ran = spawnSync('/bin/sh', ['-c', pager], {
      input: text,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { LESS: 'FRX', ...env },
    });
    // The shell's answers for a program that is not there or cannot be run.
    return ran.error === undefined && ran.status !== 127 && ran.status !== 126;
  } finally {
    process.off('SIGINT', ignore);
  }
}
