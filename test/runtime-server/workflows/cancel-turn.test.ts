/** Cancelling a run on a whole engine with a real shell: what its bot does is ended, not only asked to end. */
import { expect, test } from 'vitest';
import type { NodePage } from '../../../src/contracts/factory/node.ts';
import type { RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { startEngine, waitFor } from '../engine.ts';
import { makeSleep, startShells } from '../shells.ts';

test('cancelling a run ends the turn in which its bot works on a step, and then tells the bot', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'coder');
  const bot = `coder@${team}`;
  const step = { id: 'fix', title: 'Fix it', executor: 'bot:coder' };
  engine.write('.gantry/templates/fix.json', JSON.stringify({ steps: [step] }));
  const { body: run } = await engine.call<RunStarted>('POST', '/runs', { template: 'fix', projectId: 'p', team });
  const node = async () =>
    (await engine.call<NodePage>('GET', `/nodes/${run.dagId}/${run.nodes[0]?.nodeId}`)).body.card.status;
  await waitFor(node, (status) => status === 'working');
  await engine.until(bot, 'idle');
  await makeSleep(engine, bot);
  expect((await engine.call('POST', `/dags/${run.dagId}/cancel`, {})).status).toBe(200);
  await engine.until(bot, 'idle');
  const screen = await waitFor(
    () => engine.call<{ text: string }>('GET', `/agents/${bot}/capture`),
    ({ body }) => body.text.includes('was cancelled'),
  );
  expect(screen.body.text).toContain('asleep-2\n^C');
});
