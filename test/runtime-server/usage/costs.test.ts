import { expect, test } from 'vitest';
import { costsOfRun } from '../../../src/runtime-server/usage/costs.ts';
import { noon, openWorld } from './world.ts';

test('a run costs what the bots used for its steps, and nothing that they used for another run', async () => {
  const { world, start } = await openWorld();
  await start();
  await world.store.write((tx) => {
    for (const [id, ref] of [
      ['r1', 'dag_1/node_a'],
      ['r2', 'dag_1/node_b'],
      ['r3', 'dag_10/node_a'],
    ]) {
      tx.run(
        `INSERT INTO engine_agent_run (id, workspace, bot_id, source_kind, source_ref, status, started_at)
         VALUES (?, ?, 'bot', 'workflow', ?, 'completed', ?)`,
        id ?? '',
        '/workspace',
        ref ?? '',
        noon,
      );
      for (const [request, micro] of [
        ['x', 1000],
        ['y', null],
      ] as const) {
        tx.run(
          `INSERT INTO model_spend (id, at, agent_id, run_id, wire, model, input, cached_input, cache_write, output, micro_usd)
           VALUES (?, ?, 'bot', ?, 'claude', 'm', 5, 2, 1, 3, ?)`,
          `${id}${request}`,
          noon,
          id ?? '',
          micro,
        );
      }
    }
  });
  const costs = await world.store.read((tx) => costsOfRun(tx, '/workspace', 'dag_1'));
  const both = { model: 'm', requests: 2, input: 16, output: 6, microUsd: 1000, unpriced: 1 };
  expect(costs).toEqual([
    { nodeId: 'node_a', ...both },
    { nodeId: 'node_b', ...both },
  ]);
});
