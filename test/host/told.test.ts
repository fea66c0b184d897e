/** What a computer tells its home cloud, through the whole of Gantry: one start, one hosted bot, a played model server. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Notification } from '../../src/contracts/notifications/routes.ts';
import type { UsageLine } from '../../src/contracts/usage/routes.ts';
import { startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { caller, onEnd } from '../kit/http/support.ts';
import { text, tools } from '../support/model-server/script.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { agreeToAll } from '../support/trust.ts';
import { scratchHome } from './support.ts';

test('the run of a hosted bot and what it cost stand in the cloud, by the name of the bot', async () => {
  const home = scratchHome();
  const workspace = join(home, 'ws');
  const team = join(workspace, '.gantry', 'teams', 'ops');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'team.yaml'), 'bots:\n  - { bot: helper, binding: hosted, model: claude-haiku-4-5 }\n');
  const server = await startModelServer();
  onEnd(() => server.close());
  server.script(() => text('All is well.'));
  const env = {
    ...process.env,
    GANTRY_HOME: home,
    GANTRY_PORT: '0',
    GANTRY_ENGINE_PORT: '0',
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: 'sk-test-0123456789',
  };
  const gantry = await startCombined({
    env,
    settings: readSettings(env),
    gantry: 'gantry',
    workspace,
    answers: 'throw',
  });
  onEnd(() => gantry.close({ stopBots: true }));
  const call = caller(Number(new URL(gantry.origin).port), readFileSync(placesIn(home).token, 'utf8').trim());
  const token = readFileSync(placesIn(home).token, 'utf8').trim();
  await agreeToAll(`${gantry.engineUrl}/api/factory`, { authorization: `Bearer ${token}` });
  expect((await call('POST', '/api/factory/teams/ops/up', { body: {} })).status).toBe(200);
  expect((await call('POST', '/api/factory/send', { body: { to: 'helper@ops', text: 'Look' } })).status).toBe(200);

  const told = async () => {
    const { json } = await call('GET', '/api/v1/notifications');
    return (json as unknown as { notifications: Notification[] }).notifications;
  };
  await expect
    .poll(told)
    .toMatchObject([
      { event: 'agent.run.completed', title: 'helper has finished', body: 'All is well.', outcome: 'off' },
    ]);
  const usage = async () => (await call('GET', '/api/v1/usage')).json as unknown as { lines: UsageLine[] };
  await expect
    .poll(usage)
    .toMatchObject({ lines: [{ name: 'claude-haiku-4-5', cents: (10 * 1 + 20 * 5) / 10_000, count: 1 }] });

  // Who asks is said by name as well; that it waits as an approval is told once, not as a bot in need too.
  server.script(() => tools({ name: 'shell_exec', input: { command: 'true' } }));
  await call('POST', '/api/factory/send', { body: { to: 'helper@ops', text: 'Run' } });
  await expect
    .poll(told)
    .toMatchObject([
      { event: 'approval.requested', title: 'helper asks for approval', outcome: 'unreachable', readAt: null },
      { event: 'agent.run.completed' },
    ]);
});
