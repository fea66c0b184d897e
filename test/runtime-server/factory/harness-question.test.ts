import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { type Engine, startEngine, waitFor } from './engine.ts';

const standIn = fileURLToPath(new URL('../harness/stand-in-claude.mjs', import.meta.url));
const question = { session_id: 's', prompt_id: 'p', tool_name: 'Bash', tool_input: { command: 'make it' } };

async function start(): Promise<Engine> {
  const bin = scratchFolder();
  writeFileSync(join(bin, 'claude'), `#!/bin/sh\nexec '${process.execPath}' '${standIn}' "$@"\n`, { mode: 0o755 });
  const engine = await startEngine({ env: { PATH: `${bin}:${process.env.PATH}` } });
  engine.team('dev', 'bots:\n  - bot: web\n    harness: claude\n');
  await engine.call('POST', '/teams/dev/up', {});
  await engine.until('web@dev', 'idle');
  return engine;
}

/** What the harness starts for its question, as a program of its own. */
async function hook(engine: Engine, payload: object = question) {
  const { id } = await engine.agent('web@dev');
  const [node, ...args] = programCommand('cli');
  const child = spawn(node, [...args, 'hook', 'PermissionRequest'], {
    env: {
      PATH: process.env.PATH,
      GANTRY_URL_FILE: join(engine.home, 'run', 'url'),
      GANTRY_TOKEN_FILE: join(engine.home, 'run', 'bots', id, 'token'),
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

const waiting = async (engine: Engine, count: number) =>
  (
    await waitFor(
      () => engine.call<{ approvals: string[] }>('GET', '/agents/web@dev/explain'),
      ({ body }) => body.approvals?.length === count,
    )
  ).body.approvals;
const answer = (engine: Engine, id: string, decision: 'approve' | 'reject', note: string | null = null) =>
  engine.desk.answer({
    id,
    decision,
    note,
    resolvedBy: { user: 'user_local', surface: 'browser' },
    at: new Date().toISOString(),
  });

test('a hook waits through a restart of the engine and prints the answer to the same approval', async () => {
  const engine = await start();
  const first = await hook(engine);
  const [id = ''] = await waiting(engine, 1);
  expect(await engine.agent('web@dev')).toMatchObject({ state: 'needs_you', stateReason: 'asks to run: make it' });
  await engine.restart();
  expect(await waiting(engine, 1)).toEqual([id]);
  expect(await answer(engine, id, 'approve')).toBe('applied');
  const printed = `${JSON.stringify({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } } })}\n`;
  expect(await first.ended).toEqual({ code: 0, printed });
});

test('a hook that its harness killed withdraws the question, and a stopped bot leaves nothing to answer', async () => {
  const engine = await start();
  const killed = await hook(engine);
  const [id = ''] = await waiting(engine, 1);
  killed.child.kill('SIGKILL');
  await waiting(engine, 0);
  expect(await answer(engine, id, 'approve')).toBe('gone');
  const stopped = await hook(engine, { ...question, prompt_id: 'q' });
  await waiting(engine, 1);
  await engine.call('POST', '/teams/dev/down');
  expect(await stopped.ended).toEqual({ code: 0, printed: '' });
  expect(await engine.desk.live()).toEqual([]);
});
