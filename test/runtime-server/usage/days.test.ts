import { expect, test } from 'vitest';
import type { UsageDays } from '../../../src/contracts/factory/spending-routes.ts';
import { openWorld } from './world.ts';

const day = 86_400_000;

test('usage is told by day, in total, by bot and by model, and only of the days that are asked for', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  world.bot('twin');
  await start();
  await world.turn('coder', 'a', 10);
  await world.clock.advance(day);
  await world.turn('coder', 'b', 5);
  await world.turn('twin', 'c', 1);
  const days = (query: Record<string, unknown>) => world.call<UsageDays>('getUsageDays', { query });
  const all = await days({});
  expect(all.rows.map(({ name, requests, cents }) => [name, requests, cents])).toEqual([
    [null, 1, 10],
    [null, 2, 6],
  ]);
  expect(all.rows.at(-1)?.day).toBe(all.to);
  const byBot = await days({ by: 'bot', days: 1 });
  expect(byBot.from).toBe(byBot.to);
  expect(byBot.rows.map(({ name, cents }) => [name, cents])).toEqual([
    ['coder@red', 5],
    ['twin@red', 1],
  ]);
  expect(new Set((await days({ by: 'model' })).rows.map(({ name }) => name)).size).toBe(1);
});
