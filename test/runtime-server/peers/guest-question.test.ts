/** A bot from another computer whose own program asks: the person is asked as for any bot of this computer, with no cloud near. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PeerAgent } from '../../../src/contracts/factory/peer-routes.ts';
import { startHook, withClaude } from '../asking-harness.ts';
import { startEngine, waitFor } from '../engine.ts';
import { openTicketOffice, peerCaller, peerComputer } from './support.ts';

test('its question waits through a restart, shows where it came from, and the answer is printed for its program', async () => {
  const office = await openTicketOffice();
  const engine = await startEngine({
    env: withClaude(),
    pairing: office.pairing,
    computerId: peerComputer,
  });
  const ada = peerCaller(() => engine, office, 'user_ada');
  const web = async () => (await ada.call<{ agents: PeerAgent[] }>('GET', '/agents?team=dev')).body.agents[0];
  const files = { 'team.yaml': 'bots:\n  - {bot: web, harness: claude}\n' };
  expect((await ada.call('POST', '/teams/dev/up', { files, bots: ['web'] })).status).toBe(200);
  await waitFor(web, (agent) => agent?.state === 'idle');

  const [id = ''] = readdirSync(join(engine.home, 'run', 'bots'));
  const hook = startHook(engine.home, id);

  await waitFor(web, (agent) => agent?.state === 'needs_you');
  expect((await web())?.stateReason).toBe('asks to run: make it');
  const [held] = await engine.approvals.live();
  expect(held).toMatchObject({ agentId: id, source: 'harness', kind: 'permission' });
  expect(engine.directory.nameOf(id)).toBe('web');
  await engine.restart();
  await waitFor(web, (agent) => agent?.state === 'needs_you');
  const answered = await waitFor(
    () =>
      engine.approvals.answer({
        id: held?.id ?? '',
        decision: 'approve',
        note: null,
        resolvedBy: { user: 'user_ada', surface: 'push' },
        at: new Date().toISOString(),
      }),
    (state) => state === 'applied',
  );
  expect(answered).toBe('applied');
  const { printed } = await hook.ended;
  const { hookSpecificOutput } = JSON.parse(printed) as { hookSpecificOutput: { decision: { behavior: string } } };
  expect(hookSpecificOutput.decision).toEqual({ behavior: 'allow' });
});
