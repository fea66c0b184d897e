import { expect, test } from 'vitest';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { startEngine, waitFor } from '../engine.ts';
import { shells } from '../shells.ts';

test('a team comes up, takes a message with a witness, and goes down', async () => {
  const engine = await startEngine();
  engine.team('dev', shells('web'));
  const plan = await engine.call('POST', '/teams/dev/up', {});
  expect(plan).toMatchObject({ status: 200, body: { applied: true, plan: [{ action: 'spawn', agent: 'web@dev' }] } });
  await engine.until('web@dev', 'idle');
  const sent = await engine.call<Delivery>('POST', '/send', { to: 'web@dev', text: 'echo hello-$((40+2))' });
  expect(sent).toMatchObject({ status: 200, body: { state: 'verified', via: 'pane' } });
  expect(sent.body.evidence).not.toBeNull();
  const capture = await waitFor(
    () => engine.call<{ text: string }>('GET', '/agents/web@dev/capture'),
    ({ body }) => body.text?.includes('hello-42') ?? false,
  );
  expect(capture.body.text).toContain('From owner');
  expect(await engine.call('POST', '/teams/dev/down')).toMatchObject({ status: 200, body: { stopped: ['web@dev'] } });
  expect(await engine.agent('web@dev')).toMatchObject({ state: 'offline', pane: null });
});
