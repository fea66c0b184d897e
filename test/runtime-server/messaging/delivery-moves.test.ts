import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deliveryStates } from '../../../src/contracts/factory/delivery.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { factoryMigrations } from '../../../src/runtime-server/agents/migrations.ts';
import { type DeliveryRecord, deliveryMoves, isSettled } from '../../../src/runtime-server/messaging/model.ts';
import { insertDelivery, moveDelivery, readDelivery } from '../../../src/runtime-server/messaging/store/deliveries.ts';
import { scratchFolder } from '../../support/scratch.ts';

const delivery = (id: string, state: DeliveryRecord['state']): DeliveryRecord => ({
  id,
  agentId: null,
  to: 'web@dev',
  via: 'pane',
  state,
  evidence: null,
  detail: null,
  ticket: null,
  messageId: null,
  threadId: null,
  dagId: null,
  nodeId: null,
  at: 0,
  caller: 'user',
  surface: 'cli',
  idempotencyKey: null,
  sender: 'owner',
  firstWords: 'hello',
});

test('a delivery moves exactly as its table says, and what is refused changes nothing', async () => {
  const store = await openStore({
    file: join(scratchFolder(), 'runtime.db'),
    migrations: factoryMigrations,
    clock: systemClock,
  });
  for (const from of deliveryStates) {
    for (const to of deliveryStates) {
      const id = `${from}-${to}`;
      const move = { state: to, via: 'pane_queue', evidence: null, detail: 'moved', at: 1 } as const;
      const moved = await store.write((tx) => {
        insertDelivery(tx, delivery(id, from));
        return moveDelivery(tx, id, move);
      });
      const now = await store.read((tx) => readDelivery(tx, id));
      if (deliveryMoves[from].includes(to)) expect(now).toEqual({ ...delivery(id, to), ...move });
      else expect([moved, now]).toEqual([null, delivery(id, from)]);
    }
  }
  await store.close();
});

test('nothing leaves an end but a witness that came late', () => {
  const ends = deliveryStates.filter(isSettled);
  expect(ends.map((state) => [state, deliveryMoves[state]])).toEqual([
    ['verified', []],
    ['unconfirmed', ['verified']],
    ['best_effort', []],
    ['failed', []],
  ]);
});
