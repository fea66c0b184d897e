/**
 * The PATH of the person's own shell. An app started from a menu or a dock has only the system's short one, without the agent programs that a person
 * installed. Asked once, of their login shell; without an answer in time nothing changes.
 */
import { execFile } from 'node:child_process';
import { isAbsolute } from 'node:path';

interface PathDeps {
  readonly platform: string;
  readonly packaged: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly limitMs?: number;
}

const mark = '__gantry_path__';
const limit = 5_000;

/** Null: keep the PATH there is. */
export function personPath({ platform, packaged, env, limitMs = limit }: PathDeps): Promise<string | null> {
  const shell = env.SHELL ?? '';
  if (!packaged || platform === 'win32' || !isAbsolute(shell)) return Promise.resolve(null);
  return new Promise((resolve) => {
    const words = ['-ilc', `printf '%s' '${mark}'"$PATH"'${mark}'`];
    const child = execFile(shell, words, { env, timeout: limitMs, killSignal: 'SIGKILL' }, (_error, printed) => {
      // Start files print what they like around it, and may end badly after it.
      const [, path = ''] = String(printed).split(mark);
      resolve(path.includes('/') && !path.includes('\n') ? path : null);
    });
    child.stdin?.end();
  });
}
