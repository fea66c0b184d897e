import { expect, test } from 'vitest';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { readTeams } from '../../../src/runtime-server/agents/store/teams.ts';
import { toDelivery } from '../../../src/runtime-server/messaging/model.ts';
import { listDeliveries } from '../../../src/runtime-server/messaging/store/deliveries.ts';
import { startEngine, waitFor } from '../engine.ts';
import { makeBusy, newTeam, startShells } from '../shells.ts';

test('the state rebuilt from the ledger is the state in the tables: deliveries and teams', async () => {
  const engine = await startEngine();
  const up = await startShells(engine, 'web', 'api');
  const stopped = await startShells(engine, 'web');
  const broken = newTeam(engine, 'web');
  const thread = await engine.call<{ id: string }>('POST', '/threads', { title: 'T', bot: `web@${up}` });
  const send = (to: string, more = {}) => engine.call<Delivery>('POST', '/send', { to, text: 'echo x', ...more });
  await send(`web@${up}`, { threadId: thread.body.id });
  await send(`channel:${thread.body.id}`);
  const free = await makeBusy(engine, `api@${up}`);
  const waited = await send(`api@${up}`, { idempotencyKey: 'k' });
  await send(`api@${up}`, { idempotencyKey: 'k' });
  await send(`web@${stopped}`, { queue: true });
  await engine.call('POST', `/teams/${stopped}/down`);
  await send(`web@${stopped}`);
  engine.team(broken, 'bots: [');
  await engine.call('GET', '/teams');
  free();
  await waitFor(
    async () => (await engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries?agent=api@${up}`)).body.deliveries,
    ([delivery]) => delivery?.id === waited.body.id && delivery.state === 'verified',
  );
  await engine.factory.close();

  const deliveries = new Map<string, unknown>();
  const teams = new Map<string, Record<string, unknown>>();
  for (const row of await engine.ledger.read('0', 10_000)) {
    if (row.type === 'delivery.accepted' || row.type === 'delivery') {
      const delivery = row.body.delivery as Delivery;
      deliveries.set(delivery.id, delivery);
    }
    if (row.type === 'team.changed') {
      const { team } = row.body.change as { team: string };
      const { file, hash, up: isUp, preset } = row.body.state as Record<string, unknown>;
      const before = teams.get(team) ?? { name: team, file: 'unseen', fileHash: null, up: false, preset: null };
      teams.set(team, {
        ...before,
        ...(file === undefined ? {} : { file, fileHash: hash }),
        ...(isUp === undefined ? {} : { up: isUp, preset }),
      });
    }
  }
  const rows = await engine.store.read((tx) => listDeliveries(tx, { limit: 1000 }));
  expect(rows.length).toBe(5);
  expect(Object.fromEntries(deliveries)).toEqual(Object.fromEntries(rows.map((row) => [row.id, toDelivery(row)])));
  const teamRows = await engine.store.read((tx) => readTeams(tx, engine.workspace));
  expect([...teams.values()].sort((a, b) => String(a.name).localeCompare(String(b.name)))).toEqual(
    teamRows.sort((a, b) => a.name.localeCompare(b.name)),
  );
  expect(await engine.ledger.verify()).toMatchObject({ ok: true });
});
