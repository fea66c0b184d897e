import { expect, onTestFinished, test } from 'vitest';
import type { AgentRun } from '../../../src/contracts/factory/work-engine/agent-runs.ts';
import { text, tools } from '../../support/model-server/script.ts';
import { waitFor } from '../engine.ts';
import { openFloor, steps } from '../hosted-bots/support.ts';

test('a bot without a terminal is interrupted by its own loop, and its record says so', async () => {
  const floor = await openFloor();
  const { engine, server } = floor;
  onTestFinished(() => server.close());
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  onTestFinished(() => answer());
  const late = async () => {
    await held;
    return text('too late');
  };
  server.script(steps(tools({ name: 'file_list', input: {} }), late));
  const bot = await floor.team('dev');
  const sent = floor.send(bot, 'Count to a million.');
  // Its first answer was taken: from then on there is a record.
  await waitFor(
    () => server.requests.length,
    (count) => count === 2,
  );
  await engine.until(bot, 'working');
  const steer = (more = {}) => engine.call('POST', '/steer', { agent: bot, action: 'interrupt', ...more });
  expect((await steer({ dryRun: true })).body).toMatchObject({ dryRun: true, plan: { keys: [] } });
  expect((await engine.agent(bot)).state).toBe('working');
  expect((await steer()).body).toEqual({ action: 'interrupt', interrupted: true, keys: [], delivery: null });
  await sent;
  const runs = await waitFor(
    () => engine.call<{ runs: AgentRun[] }>('GET', `/agent-runs?bot=${bot}`),
    ({ body }) => typeof body.runs[0]?.endedAt === 'string',
  );
  expect(runs.body.runs[0]?.status).toMatch(/cancelled|interrupted/);
  expect((await steer()).body).toMatchObject({ interrupted: false });
});
