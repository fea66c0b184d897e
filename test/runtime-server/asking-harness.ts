/** A harness that asks, for tests: the stand-in of claude, and the hook that it starts for its question. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { programCommand } from '../../src/kit/process/programs.ts';
import { compileCache } from '../support/compile-cache.ts';
import { scratchFolder } from '../support/scratch.ts';

const standIn = fileURLToPath(new URL('./harness/stand-in-claude.mjs', import.meta.url));
export const question = { session_id: 's', prompt_id: 'p', tool_name: 'Bash', tool_input: { command: 'make it' } };

/** Environment in which `claude` is the stand-in. */
export function withClaude(): { PATH: string } {
  const bin = scratchFolder();
  writeFileSync(join(bin, 'claude'), `#!/bin/sh\nexec '${process.execPath}' '${standIn}' "$@"\n`, { mode: 0o755 });
  return { PATH: `${bin}:${process.env.PATH}` };
}

/** What the harness starts for its question, as a program of its own. */
export function startHook(home: string, botId: string, payload: object = question) {
  const [node, ...args] = programCommand('cli');
  const child = spawn(node, [...args, 'hook', 'PermissionRequest'], {
    env: {
      PATH: process.env.PATH,
      ...compileCache,
      GANTRY_URL_FILE: join(home, 'run', 'url'),
      GANTRY_TOKEN_FILE: join(home, 'run', 'bots', botId, 'token'),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let printed = '';
  child.stdout.on('data', (data) => {
    printed += data;
  });
  const ended = new Promise<{ code: number | null; printed: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, printed }));
  });
  child.stdin.end(JSON.stringify(payload));
  return { child, ended };
}
