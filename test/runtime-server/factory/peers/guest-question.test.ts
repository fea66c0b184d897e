/** A bot from another computer whose own program asks: the person is asked as for any bot of this computer, with no cloud near. */
import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { PeerAgent } from '../../../../src/contracts/factory/peer-routes.ts';
import { programCommand } from '../../../../src/kit/process/programs.ts';
import { scratchFolder } from '../../../support/scratch.ts';
import { startEngine, waitFor } from '../engine.ts';
import { openTicketOffice, peerCaller, peerComputer } from './support.ts';

const standIn = fileURLToPath(new URL('../../harness/stand-in-claude.mjs', import.meta.url));
const question = { session_id: 's', prompt_id: 'p', tool_name: 'Bash', tool_input: { command: 'make it' } };

test('its question waits through a restart, shows where it came from, and the answer is printed for its program', async () => {
  const bin = scratchFolder();
  writeFileSync(join(bin, 'claude'), `#!/bin/sh\nexec '${process.execPath}' '${standIn}' "$@"\n`, { mode: 0o755 });
  const office = await openTicketOffice();
  const engine = await startEngine({
    env: { PATH: `${bin}:${process.env.PATH}` },
    pairing: office.pairing,
    computerId: peerComputer,
  });
  const ada = peerCaller(() => engine, office, 'user_ada');
  const web = async () => (await ada.call<{ agents: PeerAgent[] }>('GET', '/agents?team=dev')).body.agents[0];
  const files = { 'team.yaml': 'bots:\n  - {bot: web, harness: claude}\n' };
  expect((await ada.call('POST', '/teams/dev/up', { files, bots: ['web'] })).status).toBe(200);
  await waitFor(web, (agent) => agent?.state === 'idle');

  const [id = ''] = readdirSync(join(engine.home, 'run', 'bots'));
  const [node, ...args] = programCommand('cli');
  const hook = spawn(node, [...args, 'hook', 'PermissionRequest'], {
    env: {
      PATH: process.env.PATH,
      GANTRY_URL_FILE: join(engine.home, 'run', 'url'),
      GANTRY_TOKEN_FILE: join(engine.home, 'run', 'bots', id, 'token'),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void hook.kill('SIGKILL'));
  let printed = '';
  hook.stdout.on('data', (data) => {
    printed += data;
  });
  const ended = new Promise((resolve) => hook.on('close', resolve));
  hook.stdin.end(JSON.stringify(question));

  await waitFor(web, (agent) => agent?.state === 'needs_you');
  expect((await web())?.stateReason).toBe('asks to run: make it');
  const [held] = await engine.desk.live();
  expect(held).toMatchObject({ agentId: id, source: 'harness', kind: 'permission' });
  expect(engine.factory.nameOf(id)).toBe('web');
  await engine.restart();
  await waitFor(web, (agent) => agent?.state === 'needs_you');
  const answered = await waitFor(
    () =>
      engine.desk.answer({
        id: held?.id ?? '',
        decision: 'approve',
        note: null,
        resolvedBy: { user: 'user_ada', surface: 'push' },
        at: new Date().toISOString(),
      }),
    (state) => state === 'applied',
  );
  expect(answered).toBe('applied');
  await ended;
  const { hookSpecificOutput } = JSON.parse(printed) as { hookSpecificOutput: { decision: { behavior: string } } };
  expect(hookSpecificOutput.decision).toEqual({ behavior: 'allow' });
});
